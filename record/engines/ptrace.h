/* Internal to record/engines/ptrace*.c: the state of a run of the ptrace engine.
 *
 * Everything except start, run and delete happens in one thread, the tracer, because for the kernel a tracer is a
 * thread. When it ends, all its tracees are detached without stopping.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PTRACE_H
#define RECORD_ENGINES_PTRACE_H

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
    int *failure; /* exit status for the error */
    pthread_t tracer;
    sem_t started, go;
    struct signals signals;
    pid_t pid; /* of the program, 0: none */
    struct tracees tracees;
    cpu_set_t cpus, used;       /* CPUs that the sampler may use; that it uses */
    struct engine_thread *rows; /* of the sample being taken: ended threads first */
    size_t row_count, row_capacity;
    uint64_t turns; /* interrupts so far */
    size_t awaited; /* threads that were interrupted for the sample and have not stopped */
    /* absolute [ns]: end of the last wait; when the sample was due, or the sampler woke for it, if later; start of the sample; last
     * resumption of a thread for it */
    uint64_t woken, moment, begin, resumed;
    int priority; /* with a real-time priority the sampler gets a CPU at once; 0: it has none */
    struct nudge nudge; /* if it has none */
    struct tracee self; /* the tracer, with its times at the wake-up for the sample */
    uint64_t late;      /* delay of that wake-up [ns] */
    bool sleepers;      /* a thread of the last sample sometimes sleeps */
    bool crowded;       /* a process is */
    bool faulting;      /* a process had page faults lately */
    bool calling;       /* a process was seen in system calls lately */
    bool away;          /* the sampler avoids the CPUs of threads */
    int widest;         /* on how many CPUs threads ran at a time lately ... */
    int widest_for;     /* ... which is remembered for so many samples */
    size_t born;        /* threads when it last chose a CPU */
    int births_for;     /* for so many samples, new ones are remembered */
    bool at_once;       /* the sampler did not wait for a CPU when it woke */
    bool any_late;      /* a thread was seen late, and had been on a CPU: ptrace_late */
    /* Sightings in user code on the CPU of the sampler, of threads that sometimes sleep; those that the scheduler's
     * counts confirm. */
    uint64_t likely, exact;
    struct pace pace;
    uint64_t next_ticks;  /* when to read the ticks of processes again [ns], absolute */
    uint64_t next_tick;   /* absolute, UINT64_MAX: with the next sample */
    uint64_t read, every; /* the last reading of power; from the one before to it [ns of the run] */
    uint64_t ticking;     /* CPU time for ticks since the last sample [ns] */
    int behind;           /* samples since no event was pending */
    double contended;     /* part of the last samples in which a thread waited for a CPU */
    uint64_t stops, probes, probed; /* stops; twice in a row; CPU time between the two [ns] */
    struct latency latency;
    uint64_t start, last; /* [ns]: of the run, absolute; of the last sample, since then */
    uint64_t expires;     /* 0: never */
    int stop_signal;      /* the terminal stopped the job ... */
    uint64_t stop_until;  /* ... which holds until then */
    bool traced;          /* the tracer exists */
    bool cancelled;       /* the run was deleted before it started */
    bool sampling, asked_to_end, ended;
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
/* Adds to the next sample the CPU time of threads of a crowded PROCESS that were never seen: TOTAL without that of
 * known ended threads and LIVE, that of known live threads [ns]. */
void ptrace_add_unseen(struct engine_run *run, struct process *process, uint64_t total,
                       uint64_t live);
/* Reports that a process has an image, of kind HOW and with parent image PARENT. */
void ptrace_new_image(struct engine_run *run, struct process *process, enum raw_how how,
                      uint32_t parent);

/* Reports where the kernel's ticks have found PROCESS since they were last read. */
void ptrace_read_ticks(struct engine_run *run, struct process *process);

/* ptrace_sample.c: call before the wait for a sample. */
void ptrace_rest(struct engine_run *run);
/* Power has a new value since READ of the run: delivers a sample without threads, at which CPU times are divided. */
void ptrace_mark(struct engine_run *run, uint64_t read);
/* Are readings of power far enough apart for that, and do threads share CPUs? Otherwise samples show better when they ran. */
bool ptrace_divides(const struct engine_run *run);
/* If threads have stopped late, and were on a CPU when they were interrupted, delivers a sample in which only these ran. If a late
 * sighting instead replaced the sighting at the next sample, it would hide what the thread runs when it has a CPU again: the code
 * after the function in which it lost the CPU, if that function was about to end. */
void ptrace_late(struct engine_run *run);
/* Takes and delivers a sample of all threads. */
void ptrace_sample(struct engine_run *run);
/* An AWAITED one has stopped: reads its PC and times. */
void ptrace_see(struct engine_run *run, struct tracee *tracee);
/* Stops waiting for an AWAITED one. */
void ptrace_give_up(struct engine_run *run, struct tracee *tracee);
/* Gives the sampler a higher real-time priority than the thread TID, which would otherwise keep the sampler off its
 * CPU. */
void ptrace_outrank(struct engine_run *run, pid_t tid);
/* Adds to the next sample: a row; the final CPU time of a thread. */
void ptrace_add_row(struct engine_run *run, const struct engine_thread *row);
void ptrace_add_total(struct engine_run *run, const struct tracee *tracee);
/* The last sample: the CPU times of all remaining threads, and of those that have ended since the previous one. */
void ptrace_last_sample(struct engine_run *run);

#endif
