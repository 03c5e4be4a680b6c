/* Internal to record/engines/ptrace*.c: the state of a run of the ptrace engine.
 *
 * Everything except start, run and delete happens in one thread, the tracer, because the kernel
 * identifies a tracer by its thread. When this thread ends, all its tracees are detached without
 * being stopped.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PTRACE_INTERNAL_H
#define RECORD_ENGINES_PTRACE_INTERNAL_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>

#include "record/engine.h"
#include "record/engines/latency.h"
#include "record/engines/nudge.h"
#include "record/engines/pace.h"
#include "record/engines/signals.h"
#include "record/engines/tracee.h"

struct engine_run {
    char *const *command; /* NULL: attached */
    const struct engine_options *options;
    const struct engine_hooks *hooks;
    struct engine_result *result;
    struct error *err;
    int *failure; /* exit status that belongs to ERR */
    pthread_t tracer;
    sem_t started, go;
    struct signals signals;
    pid_t pid; /* of the program; 0: none */
    struct tracees tracees;
    cpu_set_t cpus, used;       /* CPUs that the sampler may use; those that it uses */
    struct engine_thread *rows; /* of the sample being taken: ended threads first */
    size_t row_count, row_capacity;
    uint64_t turns; /* interrupts so far */
    size_t awaited; /* threads that were interrupted for the sample and have not stopped yet */
    /* absolute [ns]: end of the last wait; when the sample was due, or when the sampler woke for
     * it, if later; start of the sample; last time that a thread was resumed for it */
    uint64_t woken, moment, begin, resumed;
    int priority;       /* real-time, with which the sampler gets a CPU at once; 0: none */
    struct nudge nudge; /* used without a real-time priority */
    struct tracee self; /* the tracer, with its times when it woke for the sample */
    uint64_t late;      /* delay of that wake-up [ns] */
    bool sleepers;      /* a thread of the last sample sometimes sleeps */
    bool crowded;       /* a process is crowded */
    bool faulting;      /* a process had page faults recently */
    bool calling;       /* a process was recently seen in system calls */
    bool away;          /* the sampler avoids the CPUs of threads */
    int widest;         /* highest recent number of CPUs that ran threads at the same time ... */
    int widest_for;     /* ... and for how many samples it is still remembered */
    size_t born;        /* number of threads added when it last chose a CPU */
    int creations_for;  /* for how many samples recent creations are still remembered */
    bool at_once;       /* the sampler did not wait for a CPU when it woke */
    bool any_late;      /* a thread was seen late, and had been on a CPU: see ptrace_late */
    /* Sightings in user code of threads that sometimes sleep and were probably preempted by the
     * sampler; those that the counts of the scheduler confirm. */
    uint64_t likely, exact;
    struct pace pace;
    uint64_t next_ticks; /* when to read the ticks of processes again [ns], absolute */
    /* when to read power between samples, absolute; UINT64_MAX: only with samples */
    uint64_t next_tick;
    uint64_t read;   /* time of the last new value of power [ns of the run] */
    uint64_t values; /* number of these so far */
    double every;    /* smoothed time between two of them [ns] */
    bool divides;    /* they are marked */
    int pending_for; /* number of samples since no event was pending */
    /* stops; pairs of stops that were measured; CPU time between the two [ns] */
    uint64_t stops, probes, probed;
    struct latency latency;
    uint64_t start, last; /* start of the run [ns], absolute; last sample [ns of the run] */
    uint64_t expires;     /* when to end or kill the program [ns], absolute; 0: never */
    int stop_signal;      /* with which the terminal stopped the job; 0: none ... */
    uint64_t stop_until;  /* ... and until when the sampler expects the program to stop */
    bool traced;          /* the tracer exists */
    bool cancelled;       /* the run could not start, or was deleted before it did */
    bool sampling, asked_to_end, ended;
    bool cuts; /* a call that a stop cuts short no longer goes on */
};

/* Nanoseconds since the start of the run. */
uint64_t ptrace_time(const struct engine_run *run);
/* Lets the caller read its power sources, and marks a new value. */
void ptrace_tick(struct engine_run *run);
/* The ptrace options for a thread and its process. */
unsigned long ptrace_options(const struct engine_run *run, const struct tracee *tracee);

/* ptrace_attach.c: seizes the threads and processes in the options. Returns 0, or -1 with the error set. */
int ptrace_attach(struct engine_run *run);
/* Seizes the threads that a crowded process has created. */
void ptrace_find_threads(struct engine_run *run, struct process *process);

/* ptrace_events.c: handles one event from the kernel; false: none is pending. */
bool ptrace_take_event(struct engine_run *run);
/* The same for stops only, which is faster. */
bool ptrace_take_stop(struct engine_run *run);
/* Adds to the next sample the CPU time of those threads of a crowded PROCESS that were never seen:
 * TOTAL minus the CPU time of known ended threads and of known live threads (LIVE) [ns]. */
void ptrace_add_unseen(struct engine_run *run, struct process *process, uint64_t total,
                       uint64_t live);
/* Reports that a process has an image, of kind HOW and with parent image PARENT. */
void ptrace_new_image(struct engine_run *run, struct process *process, enum raw_how how,
                      uint32_t parent);

/* Reports the CPU time in user code and in the kernel that the ticks of the kernel have counted for
 * PROCESS since they were last read. */
void ptrace_read_ticks(struct engine_run *run, struct process *process);

/* ptrace_sample.c: to be called before the wait for a sample. */
void ptrace_rest(struct engine_run *run);
/* Power has a new value, read at READ of the run [ns]: delivers a sample without threads, at which
 * CPU times are divided. */
void ptrace_mark(struct engine_run *run, uint64_t read);
/* If threads have stopped late, and were on a CPU when they were interrupted, delivers a sample in
 * which only these ran. If a late sighting replaced the sighting of the next sample, it would hide
 * the code that the thread runs when it has a CPU again: if the function in which it lost the CPU
 * was about to end, this is the code after that function. */
void ptrace_late(struct engine_run *run);
/* Takes and delivers a sample of all threads. */
void ptrace_sample(struct engine_run *run);
/* Reads the PC and times of an AWAITED thread that has stopped. */
void ptrace_see(struct engine_run *run, struct tracee *tracee);
/* Stops waiting for an AWAITED thread. */
void ptrace_give_up(struct engine_run *run, struct tracee *tracee);
/* Gives the sampler a higher real-time priority than the thread TID, which would otherwise keep the sampler off its
 * CPU. */
void ptrace_outrank(struct engine_run *run, pid_t tid);
/* Add to the next sample: a row; the final CPU time of a thread. */
void ptrace_add_row(struct engine_run *run, const struct engine_thread *row);
void ptrace_add_total(struct engine_run *run, const struct tracee *tracee);
/* The last sample: the CPU times of all remaining threads, and of those that have ended since the previous one. */
void ptrace_last_sample(struct engine_run *run);

#endif
