/* Attaches to running threads and processes, without stopping any.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "record/engines/ptrace_internal.h"
#include "record/process.h"

/* Returns 1 if the thread is new and was seized, 0 if it is known or has ended, -1 with the error
 * set. */
static int seize(struct engine_run *run, struct process *process, pid_t tid)
{
    if (tracees_find(&run->tracees, tid) != NULL)
        return 0;
    struct tracee *tracee = tracees_add(&run->tracees, process, tid);
    tracee->state = TRACEE_RUNNING;
    tracee->announces = !process->crowded;
    if (ptrace(PTRACE_SEIZE, tid, 0, ptrace_options(run, tracee)) == 0)
        return 1;
    int errnum = errno;
    tracees_remove(&run->tracees, tracee);
    tracees_sweep(&run->tracees);
    if (errnum == ESRCH || run->hooks != NULL || process_thread_ended(process->pid, tid))
        return 0;
    return error_set_errno(run->err, NULL, errnum,
                           "cannot attach to %d (it may be traced already, be another user's, or "
                           "kernel.yama.ptrace_scope forbids it)",
                           (int)tid);
}

/* Makes one pass over the threads of PROCESS. Returns how many were new, or -1 with the error
 * set. */
static int seize_threads(struct engine_run *run, struct process *process)
{
    pid_t *tids;
    int news = 0, done = 0;
    ssize_t count = process->folder >= 0 ? process_threads_in(process->folder, &tids)
                                         : process_threads(process->pid, &tids);
    for (ssize_t i = 0; i < count && done >= 0; i++) {
        done = seize(run, process, tids[i]);
        news += done > 0;
    }
    free(tids);
    return done < 0 ? -1 : news;
}

/* A seized thread announces the threads that it creates: once a pass finds no new thread, all are
 * known. */
static int attach_to(struct engine_run *run, pid_t id)
{
    pid_t parent = 0, pid = process_of(id, &parent);
    if (pid < 0 && run->options->attach_some)
        return 0;
    if (pid < 0)
        return error_set(run->err, NULL, NO_OFFSET, "cannot attach to %d: no such process",
                         (int)id);
    struct process *process = tracees_process(&run->tracees, pid);
    if (process == NULL)
        process = tracees_add_process(&run->tracees, pid);
    process->maker = parent;
    process->attached = process->stops_at_end = true;
    process->partial |= id != pid;
    if (id != pid)
        return seize(run, process, id) < 0 ? -1 : 0;
    int news;
    while ((news = seize_threads(run, process)) > 0)
        ;
    return news;
}

/* Excludes earlier CPU time from this profile, whether it was used by these threads or by threads
 * that have ended. */
static void count_from_now(struct tracees *tracees)
{
    for (size_t i = 0; i < tracees->process_count; i++) {
        struct process *process = tracees->processes[i];
        process->gone = process_cpu(process->pid);
        process->faults = process_faults(process->pid);
        process->partial |= !process_ticks(process->pid, &process->user, &process->system);
    }
    for (size_t i = 0; i < tracees->count; i++) {
        struct tracee *tracee = tracees->list[i];
        tracee->timed = tracee_read_time(tracee, &tracee->run);
        tracee->uncounted = tracee->run.cpu;
        uint64_t used = tracee->run.cpu, *gone = &tracee->process->gone;
        *gone -= used < *gone ? used : *gone;
    }
}

/* Returns whether all threads of PROCESS are known. The folder of its threads has a link for
 * itself, one for its parent, and one for each thread. */
static bool is_complete(const struct process *process)
{
    struct stat st;
    return fstat(process->folder, &st) == 0 && st.st_nlink == process->threads + 2;
}

void ptrace_find_threads(struct engine_run *run, struct process *process)
{
    if (process->folder < 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
        process->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (process->folder < 0 || is_complete(process))
        return;
    size_t before = run->tracees.count;
    seize_threads(run, process);
    for (size_t i = before; i < run->tracees.count; i++)
        run->hooks->task(run->hooks->context, (uint32_t)process->pid,
                         (uint32_t)run->tracees.list[i]->tid, ptrace_time(run), NULL);
}

int ptrace_attach(struct engine_run *run)
{
    for (size_t i = 0; i < run->options->attach_count; i++)
        if (attach_to(run, run->options->attach[i]) < 0)
            return -1;
    if (run->tracees.count == 0)
        return error_set(run->err, NULL, NO_OFFSET, "cannot attach: the process has ended");
    count_from_now(&run->tracees);
    run->pid = run->tracees.processes[0]->pid;
    return 0;
}
