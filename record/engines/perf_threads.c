/* The threads and processes known to the perf engine.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

void perf_threads_free(struct perf_threads *all)
{
    for (size_t i = 0; i < PERF_BUCKETS; i++) {
        while (all->threads[i] != NULL) {
            struct perf_thread *thread = all->threads[i];
            all->threads[i] = thread->chain;
            perf_thread_free(thread);
        }
        while (all->processes[i] != NULL) {
            struct perf_process *process = all->processes[i];
            all->processes[i] = process->chain;
            free(process);
        }
    }
}

struct perf_thread *perf_thread_find(const struct perf_threads *all, uint32_t tid)
{
    struct perf_thread *thread = all->threads[tid % PERF_BUCKETS];
    while (thread != NULL && thread->tid != tid)
        thread = thread->chain;
    return thread;
}

void perf_thread_name(struct perf_thread *thread, const char *comm)
{
    snprintf(thread->comm, sizeof thread->comm, "%s", comm);
}

struct perf_thread *perf_thread_add(struct perf_threads *all, uint32_t pid, uint32_t tid,
                                    const char *comm)
{
    struct perf_thread *thread = mem_zalloc(1, sizeof *thread);
    struct perf_thread **bucket = &all->threads[tid % PERF_BUCKETS];
    thread->pid = pid;
    thread->tid = tid;
    thread->clock = -1;
    perf_thread_name(thread, comm);
    thread->chain = *bucket;
    *bucket = thread;
    all->thread_count++;
    struct perf_process *process = perf_process_find(all, pid);
    if (process != NULL)
        process->threads++;
    return thread;
}

bool perf_thread_end(struct perf_threads *all, struct perf_thread *thread)
{
    struct perf_process *process = perf_process_find(all, thread->pid);
    thread->ended = true;
    return process != NULL && process->threads > 0 && --process->threads == 0;
}

void perf_thread_remove(struct perf_threads *all, struct perf_thread *thread)
{
    struct perf_thread **link = &all->threads[thread->tid % PERF_BUCKETS];
    while (*link != thread)
        link = &(*link)->chain;
    *link = thread->chain;
    all->thread_count--;
    if (!thread->ended)
        perf_thread_end(all, thread);
}

void perf_thread_free(struct perf_thread *thread)
{
    if (thread->clock >= 0)
        close(thread->clock);
    free(thread);
}

void perf_process_remove(struct perf_threads *all, struct perf_process *process)
{
    struct perf_process **link = &all->processes[process->pid % PERF_BUCKETS];
    while (*link != process)
        link = &(*link)->chain;
    *link = process->chain;
    all->process_count--;
    free(process);
}

struct perf_process *perf_process_find(const struct perf_threads *all, uint32_t pid)
{
    struct perf_process *process = all->processes[pid % PERF_BUCKETS];
    while (process != NULL && process->pid != pid)
        process = process->chain;
    return process;
}

struct perf_process *perf_process_add(struct perf_threads *all, uint32_t pid, uint32_t image)
{
    struct perf_process *process = perf_process_find(all, pid);
    if (process == NULL) {
        struct perf_process **bucket = &all->processes[pid % PERF_BUCKETS];
        process = mem_zalloc(1, sizeof *process);
        *process = (struct perf_process){.chain = *bucket, .pid = pid, .image = image};
        *bucket = process;
        all->process_count++;
    }
    return process;
}
