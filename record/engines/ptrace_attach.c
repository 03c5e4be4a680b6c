/* Attaching to threads and processes that run already, without stopping any.
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "record/engines/ptrace.h"

/* CPU time from before is not this profile's. */
static void count_from_now(struct tracee *tracee)
{
    tracee->state = TRACEE_RUNNING;
    if (tracee_read_time(tracee, &tracee->run)) {
        tracee->timed = true;
        tracee->uncounted = tracee->run.cpu;
    }
}

/* Returns 1 when the thread is new and seized, 0 when it is not new or gone, -1 with the error set. */
static int seize(struct engine_run *run, struct process *process, pid_t tid)
{
    if (tracees_find(&run->tracees, tid) != NULL)
        return 0;
    if (ptrace(PTRACE_SEIZE, tid, 0, ptrace_options(run, tid == process->pid)) == 0) {
        count_from_now(tracees_add(&run->tracees, process, tid));
        return 1;
    }
    if (errno == ESRCH)
        return 0;
    return error_set_errno(run->err, NULL, errno,
                           "cannot attach to %d (it may be traced already, be another user's, or "
                           "kernel.yama.ptrace_scope forbids it)",
                           (int)tid);
}

/* One pass over the threads that PROCESS has. Returns how many were new, or -1. */
static int seize_threads(struct engine_run *run, struct process *process)
{
    char path[64];
    int news = 0, done = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && done >= 0 && (entry = readdir(folder)) != NULL) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        done = tid > 0 ? seize(run, process, tid) : 0;
        news += done > 0;
    }
    if (folder != NULL)
        closedir(folder);
    return done < 0 ? -1 : news;
}

/* A thread that is seized announces those that it makes: a pass that finds none has them all. */
static int attach_to(struct engine_run *run, pid_t id)
{
    pid_t parent = 0, pid = process_of(id, &parent);
    if (pid < 0)
        return error_set(run->err, NULL, NO_OFFSET, "cannot attach to %d: there is no such process",
                         (int)id);
    struct process *process = tracees_process(&run->tracees, pid);
    if (process == NULL)
        process = tracees_add_process(&run->tracees, pid);
    process->maker = parent;
    process->attached = true;
    if (id != pid)
        return seize(run, process, id) < 0 ? -1 : 0;
    int news;
    while ((news = seize_threads(run, process)) > 0)
        ;
    return news;
}

/* CPU time that ended threads had used before. */
static void balance(struct tracees *tracees)
{
    for (size_t i = 0; i < tracees->process_count; i++)
        tracees->processes[i]->gone = process_cpu(tracees->processes[i]->pid);
    for (size_t i = 0; i < tracees->count; i++) {
        struct tracee *tracee = tracees->list[i];
        uint64_t used = tracee->run.cpu, *gone = &tracee->process->gone;
        *gone -= used < *gone ? used : *gone;
    }
}

int ptrace_attach(struct engine_run *run)
{
    for (size_t i = 0; i < run->options->attach_count; i++)
        if (attach_to(run, run->options->attach[i]) < 0)
            return -1;
    if (run->tracees.count == 0)
        return error_set(run->err, NULL, NO_OFFSET, "cannot attach: the process has ended");
    balance(&run->tracees);
    run->pid = run->tracees.processes[0]->pid;
    return 0;
}
