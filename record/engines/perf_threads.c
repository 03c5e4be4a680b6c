/* The threads and processes known to the perf engine.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

void perf_threads_free(struct perf_threads *all)
{
    size_t place = 0;
    for (struct perf_thread *thread; (thread = id_map_next(&all->threads, &place)) != NULL;)
        perf_thread_free(thread);
    place = 0;
    for (struct perf_process *process; (process = id_map_next(&all->processes, &place)) != NULL;)
        free(process);
    id_map_free(&all->threads);
    id_map_free(&all->processes);
}

struct perf_thread *perf_thread_find(const struct perf_threads *all, uint32_t tid)
{
    return id_map_find(&all->threads, tid);
}

void perf_thread_name(struct perf_thread *thread, const char *comm)
{
    snprintf(thread->comm, sizeof thread->comm, "%s", comm);
}

struct perf_thread *perf_thread_add(struct perf_threads *all, uint32_t pid, uint32_t tid,
                                    const char *comm)
{
    struct perf_thread *thread = mem_zalloc(1, sizeof *thread);
    thread->pid = pid;
    thread->tid = tid;
    thread->clock = -1;
    perf_thread_name(thread, comm);
    id_map_set(&all->threads, tid, thread);
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
    id_map_set(&all->threads, thread->tid, NULL);
    if (!thread->ended)
        perf_thread_end(all, thread);
}

uint64_t perf_thread_counted(const struct perf_thread *thread)
{
    uint64_t ns;
    return thread->clock >= 0 && read(thread->clock, &ns, sizeof ns) == sizeof ns ? ns : 0;
}

void perf_thread_free(struct perf_thread *thread)
{
    if (thread->clock >= 0)
        close(thread->clock);
    free(thread);
}

void perf_process_remove(struct perf_threads *all, struct perf_process *process)
{
    id_map_set(&all->processes, process->pid, NULL);
    free(process);
}

struct perf_process *perf_process_find(const struct perf_threads *all, uint32_t pid)
{
    return id_map_find(&all->processes, pid);
}

struct perf_process *perf_process_add(struct perf_threads *all, uint32_t pid, uint32_t image,
                                      uint64_t time)
{
    struct perf_process *process = perf_process_find(all, pid);
    if (process == NULL) {
        process = mem_zalloc(1, sizeof *process);
        *process = (struct perf_process){.pid = pid, .image = image, .changed = time};
        id_map_set(&all->processes, pid, process);
    }
    return process;
}
