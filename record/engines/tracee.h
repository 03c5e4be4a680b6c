/* The processes and threads traced by the ptrace engine, and the data of each thread that can be
 * read.
 *
 *               interrupt           any stop           resume
 *     RUNNING ------------> AWAITED ---------> HELD ------------> RUNNING, or LISTENING in a group stop
 *
 *     BORN: announced by its creator, not yet stopped      any stop ----> HELD
 *     DYING: is exiting, or is a zombie; reached from any state, left only by exec
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_TRACEE_H
#define RECORD_ENGINES_TRACEE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/engines/id_map.h"

enum tracee_state {
    TRACEE_BORN,
    TRACEE_RUNNING,
    TRACEE_AWAITED,
    TRACEE_HELD,
    TRACEE_LISTENING,
    TRACEE_DYING
};

struct process {
    pid_t pid;
    pid_t maker;   /* the process that created it; 0: unknown */
    bool attached; /* it existed before the run */
    bool crowded; /* it creates threads too fast to stop each at its start: they are searched for */
    bool seen;    /* a thread of its current image was seen running */
    bool stops_at_end;      /* its leader stops at the end, when its mappings can still be read */
    int folder;             /* of its threads in /proc; -1: not open */
    uint32_t image;         /* number of its current image */
    unsigned creations;     /* number of threads that it has announced ... */
    uint64_t creations_at;  /* ... when the clock was last read for them [ns], absolute */
    uint64_t creations_cpu; /* ... and the CPU time of the process then [ns] */
    size_t index;           /* in the list */
    size_t threads;         /* number of its traced threads */
    uint64_t gone;          /* CPU time of its threads that have ended [ns] */
    uint64_t unseen;        /* the part of it that belongs to threads that were never seen [ns] */
    bool active;            /* a thread was seen running since its ticks were last read */
    bool partial;           /* not all of its threads are traced */
    bool faulting;          /* it had page faults recently: those of its threads are watched */
    bool calling; /* it was seen in system calls recently: the CPUs of its threads are watched */
    unsigned sightings, calls; /* on a CPU, for CALLING: all, in system calls */
    uint64_t faults;           /* its page faults, as last read */
    uint64_t user, system;     /* CPU time by its ticks, as last read [ns] */
    uint64_t stops;            /* of its threads since its ticks were last read */
    /* CPU time of its ended children, including their own children [ns] */
    uint64_t children_user, children_system;
};

/* The scheduler's counts of a thread. If two readings are equal, the thread was on no CPU in
 * between, because a thread that was held or waited is counted when it gets a CPU. */
struct run_time {
    uint64_t cpu;    /* used [ns] */
    uint64_t delay;  /* spent waiting for a CPU [ns] */
    uint64_t slices; /* number of times it got a CPU */
};

/* A system call that transfers SIZE bytes of BUFFER, and was stopped after DONE of them; see
 * restart.h. */
struct rest {
    bool active; /* the thread transfers the rest */
    uint64_t done, buffer, size;
};

struct tracee {
    struct tracee *next; /* the next removed thread */
    size_t index;        /* in the list */
    pid_t tid;
    struct process *process;
    enum tracee_state state;
    bool stuck;      /* AWAITED for longer than a sample may take; the sample does not wait */
    bool late;       /* it was stuck, and has stopped since the last sample */
    bool group_stop; /* HELD in a group stop: resumes to LISTENING, not to RUNNING */
    bool announces;  /* it stops when it creates a thread */
    bool timed;      /* RUN has been read */
    bool ran;        /* it was on a CPU when it was seen for this sample; otherwise it waited */
    bool
        in_kernel; /* it was in a system call or page fault then; pc is in the code that caused it */
    bool preempted;  /* when last seen, it waited for a CPU, in user code at pc */
    bool completed;  /* if in_kernel: the system call had completed */
    bool asleep;     /* it slept when it was last found to have used CPU time */
    unsigned steady; /* number of sightings in a row on a CPU */
    unsigned slept;  /* number of checks until it counts as a thread that does not sleep */
    uint64_t probed; /* its CPU time at the first of two stops in a row [ns], otherwise 0 */
    int signal;      /* to deliver when it is resumed; 0: none */
    /* by number: the originals of signals sent to it instead of to another thread; NULL: none */
    siginfo_t *redirected;
    struct rest rest;
    int schedstat, syscall, stat; /* file descriptors; -1: not open */
    uint64_t faults;              /* its page faults when it was last interrupted, ... */
    bool watched;                 /* ... if they are known */
    bool hasty;                   /* it was interrupted before it was known whether it slept */
    int cpu;                      /* its CPU then, if its process is crowded; -1: unknown */
    int home;                     /* its CPU at the end of a sample; -1: unknown */
    bool same_cpu;                /* the sampler is known to have been on its CPU then */
    bool faulted;                 /* it was in a page fault then */
    uint64_t pc;                  /* where it was last seen; 0: never */
    /* when the sampler woke for the sample of that interrupt [ns], absolute */
    uint64_t interrupted;
    uint64_t turn;       /* number of that interrupt in the run */
    bool at_once;        /* the sampler did not wait for a CPU when it woke then ... */
    bool prompt;         /* ... and its wake-up was not delayed (LATE of the run) */
    struct run_time run; /* as last read */
    uint64_t uncounted; /* part of run.cpu that does not belong to this profile [ns], modulo 2^64 */
};

/* All zero: empty. */
struct tracees {
    struct tracee **list; /* in no order */
    size_t count, capacity;
    struct process **processes; /* in no order */
    size_t process_count, process_capacity;
    struct id_map by_tid;
    struct tracee *removed; /* not freed yet */
    size_t added;           /* number of threads added so far */
};

void tracees_free(struct tracees *tracees);

/* Returns the thread TID, borrowed until it is removed, or NULL. */
struct tracee *tracees_find(const struct tracees *tracees, pid_t tid);
/* Adds a thread of PROCESS in state BORN. Returns it, borrowed until it is removed. */
struct tracee *tracees_add(struct tracees *tracees, struct process *process, pid_t tid);
/* Sets a thread to DYING; it remains readable until tracees_sweep. Does not remove its process. */
void tracees_remove(struct tracees *tracees, struct tracee *tracee);
void tracees_sweep(struct tracees *tracees);

/* Returns the process PID, borrowed until it is removed, or NULL. */
struct process *tracees_process(const struct tracees *tracees, pid_t pid);
struct process *tracees_add_process(struct tracees *tracees, pid_t pid);
void tracees_remove_process(struct tracees *tracees, struct process *process);

/* Interrupts a RUNNING thread, which becomes AWAITED, or DYING if it has ended. */
void tracee_interrupt(struct tracee *tracee);
/* Resumes a stopped thread, delivering its signal. It stops again when its system call ends if REST is active. */
void tracee_resume(struct tracee *tracee);
/* Reads pc, in_kernel and completed of a stopped thread. Returns whether that succeeded. */
bool tracee_read_pc(struct tracee *tracee);
/* Returns whether a RUNNING thread is waiting in the kernel. If so, reads its PC without stopping
 * it, which would wake it. */
bool tracee_waits(struct tracee *tracee);
/* Reads the times of a thread, which are exact while it is on no CPU; those of a running thread are
 * from the last update by the scheduler. Returns whether that succeeded. */
bool tracee_read_time(struct tracee *tracee, struct run_time *time);
/* Reads the number of page faults of a thread so far, and the CPU on which it runs or last ran.
 * Returns whether that succeeded. */
bool tracee_read_faults(struct tracee *tracee, uint64_t *faults, int *cpu);
/* Returns the CPU time of a thread in this profile [ns]. */
uint64_t tracee_cpu(const struct tracee *tracee);
/* Returns the CPU on which a thread runs or last ran; -1: unknown. */
int tracee_cpu_number(const struct tracee *tracee);
/* Closes the files of a thread: after exec, they belong to another thread. */
void tracee_close(struct tracee *tracee);

#endif
