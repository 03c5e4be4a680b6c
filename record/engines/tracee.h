/* The processes and threads traced by the ptrace engine, and the data that can be read of each thread.
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
    pid_t maker;   /* the process that created it, 0: unknown */
    bool attached; /* it existed before the run */
    bool crowded; /* it creates threads too fast to stop each at its start; they are searched for */
    bool seen;    /* a thread of its current image was seen running */
    bool stops_at_end;  /* the kernel stops its leader at the end, while its mappings can be read */
    int folder;         /* its threads in /proc, -1: not open */
    uint32_t image;     /* number of its current image */
    unsigned births;    /* threads that it has announced ... */
    uint64_t births_at; /* ... when the clock was last read for them [ns], absolute */
    uint64_t births_cpu; /* ... and its CPU time then [ns] */
    size_t index;        /* in the list */
    size_t threads;      /* its tracees */
    uint64_t gone;       /* CPU time of its threads that have ended [ns] */
    uint64_t unseen;     /* part of that: of threads that were never seen [ns] */
    bool active;         /* a thread was seen running since its ticks were last read */
    bool partial;        /* not all of its threads are traced */
    bool faulting;       /* it had page faults lately: those of its threads are watched */
    bool calling; /* it was seen in system calls lately: the CPUs of its threads are watched */
    unsigned sightings,
        calls;             /* running since its ticks were last read; of these, in system calls */
    uint64_t faults;       /* its page faults when they were last read */
    uint64_t user, system; /* its ticks then [ns] */
    uint64_t stops;        /* of its threads since then */
    /* of the children that have ended, with their own children [ns] */
    uint64_t children_user, children_system;
};

/* The scheduler's counts of a thread. If two readings are equal, the thread was on no CPU in between, because a thread
 * that was held or waited is counted when it gets a CPU. */
struct run_time {
    uint64_t cpu;    /* used [ns] */
    uint64_t delay;  /* spent waiting for a CPU [ns] */
    uint64_t slices; /* number of times it got a CPU */
};

struct tracee {
    struct tracee *next; /* removed one */
    size_t index;        /* in the list */
    pid_t tid;
    struct process *process;
    enum tracee_state state;
    bool stuck;      /* AWAITED for longer than a sample may take; the sample does not wait */
    bool late;       /* it was stuck, and has been seen since the last sample */
    bool group_stop; /* HELD in a group stop: resumes to LISTENING, not to RUNNING */
    bool announces;  /* it stops when it makes a thread */
    bool timed;      /* run is known */
    bool ran;        /* it was on a CPU when it was seen for this sample; otherwise it waited */
    bool
        in_kernel; /* it was in a system call or page fault then; pc is in the code that caused it */
    bool preempted;  /* it waited for a CPU when it was last seen, in user code at pc */
    bool completed;  /* ... a system call that had completed */
    bool cut;        /* ... or that is about to return EINTR */
    bool asleep;     /* when it last had used CPU time, it waited, and not for a CPU */
    unsigned steady; /* number of sightings in a row on a CPU */
    unsigned slept;  /* checks until it counts as a thread that does not sleep */
    uint64_t probed; /* stopped twice in a row: its CPU time at the first stop [ns], else 0 */
    int signal;      /* to deliver when resumed, 0: none */
    int schedstat, syscall, stat; /* file descriptors, -1: not open */
    uint64_t faults;              /* its page faults when it was last interrupted ... */
    bool watched;                 /* ... are known */
    bool hasty;                   /* it was not known then whether it slept */
    int cpu;                      /* where it was then, if its process is crowded; -1: unknown */
    bool same_cpu;                /* the sampler is known to have had its CPU then */
    bool faulted;                 /* it was in a page fault then */
    uint64_t pc;                  /* where it was last seen, 0: never */
    uint64_t interrupted;         /* when the sampler woke for its last sample [ns], absolute */
    uint64_t turn;                /* number of that interrupt in the run */
    bool at_once;                 /* the sampler did not wait for a CPU then ... */
    bool prompt;                  /* ... and woke when the sample was due, as far as it could */
    struct run_time run;          /* when last read */
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
    size_t added;           /* threads so far */
};

void tracees_free(struct tracees *tracees);

/* The thread TID, borrowed until it is removed, or NULL. */
struct tracee *tracees_find(const struct tracees *tracees, pid_t tid);
/* Adds a thread of PROCESS in state BORN. */
struct tracee *tracees_add(struct tracees *tracees, struct process *process, pid_t tid);
/* Sets it to DYING; it remains readable until tracees_sweep. Does not remove its process. */
void tracees_remove(struct tracees *tracees, struct tracee *tracee);
void tracees_sweep(struct tracees *tracees);

/* The process PID, borrowed until it is removed, or NULL. */
struct process *tracees_process(const struct tracees *tracees, pid_t pid);
struct process *tracees_add_process(struct tracees *tracees, pid_t pid);
void tracees_remove_process(struct tracees *tracees, struct process *process);

/* Interrupts a RUNNING thread, which becomes AWAITED, or DYING if it has ended. */
void tracee_interrupt(struct tracee *tracee);
/* Resumes a stopped thread, delivering its signal. */
void tracee_resume(struct tracee *tracee);
/* Reads pc, in_kernel, completed and cut of a stopped thread. Returns whether that succeeded. */
bool tracee_read_pc(struct tracee *tracee);
/* Is a RUNNING thread waiting in the kernel? If so, reads its PC without stopping it, which would wake it. */
bool tracee_waits(struct tracee *tracee);
/* Reads its times, which are exact while it is on no CPU; those of a running thread are from the last update by the
 * scheduler. Returns whether that succeeded. */
bool tracee_read_time(struct tracee *tracee, struct run_time *time);
/* Reads its page faults so far, and the CPU on which it runs or last ran. Returns whether that succeeded. */
bool tracee_read_faults(struct tracee *tracee, uint64_t *faults, int *cpu);
/* Its CPU time in this profile [ns]. */
uint64_t tracee_cpu(const struct tracee *tracee);
/* The CPU on which it runs or last ran, -1: unknown. */
int tracee_cpu_number(const struct tracee *tracee);
/* Closes its files; they belonged to another thread (exec). */
void tracee_close(struct tracee *tracee);

#endif
