/* The processes and threads that the ptrace engine holds on to, and what can be read of each thread.
 *
 *               interrupt           any stop           resume
 *     RUNNING ------------> AWAITED ---------> HELD ------------> RUNNING, or LISTENING in a group stop
 *
 *     BORN: announced by its maker, has not stopped yet        any stop ----> HELD
 *     DYING: runs its last steps, or is a zombie; from any state, there is no way back but exec
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
    pid_t maker;   /* the process that made it, 0: not known */
    bool attached; /* it was there before the run */
    bool crowded; /* it makes threads so fast that none stops at its birth: they are searched for */
    bool seen;    /* a thread of its current image was seen running */
    int folder;   /* its threads in /proc, -1: not open */
    uint32_t image;     /* number of its current image */
    unsigned births;    /* threads that it has announced ... */
    uint64_t births_at; /* ... the last but a few of them at this time [ns], absolute */
    size_t index;       /* in the list */
    size_t threads;     /* its tracees */
    uint64_t gone;      /* CPU time of its threads that have ended [ns] */
    uint64_t unseen;    /* part of that: of threads that were never seen [ns] */
    /* of the children that have ended, with their own children [ns] */
    uint64_t children_user, children_system;
};

/* What the scheduler knows of a thread. Equal twice: it was on no CPU in between, because a thread that was held, or
 * waited, is counted when it gets one. */
struct run_time {
    uint64_t cpu;    /* used [ns] */
    uint64_t delay;  /* spent waiting for a CPU [ns] */
    uint64_t slices; /* times it got a CPU */
};

struct tracee {
    struct tracee *next; /* removed one */
    size_t index;        /* in the list */
    pid_t tid;
    struct process *process;
    enum tracee_state state;
    bool stuck;      /* AWAITED for longer than a sample may take: nobody waits for it */
    bool late;       /* it was stuck, and seen for the next sample */
    bool group_stop; /* HELD in a group stop: to listen, not to run, when resumed */
    bool announces;  /* it stops when it makes a thread */
    bool timed;      /* run is known */
    bool ran;        /* it was on a CPU when it was seen for this sample; otherwise it waited */
    bool in_kernel;  /* it was in a system call then; pc is the code that called */
    bool completed;  /* ... which has done what it was called for */
    unsigned steady; /* so many times in a row it was on a CPU */
    unsigned slept;  /* so many looks to go until it counts as one that does not sleep */
    int signal;      /* to deliver when resumed, 0: none */
    int schedstat, syscall; /* file descriptors, -1: not open */
    uint64_t pc;            /* where it was last seen, 0: never */
    uint64_t interrupted;   /* when the sampler woke for its last sample [ns], absolute */
    struct run_time run;    /* when last read */
    uint64_t uncounted;     /* the part of run.cpu that is not this profile's [ns], modulo 2^64 */
};

/* Zeroed it is empty. */
struct tracees {
    struct tracee **list; /* in no order */
    size_t count, capacity;
    struct process **processes; /* in no order */
    size_t process_count, process_capacity;
    struct id_map by_tid;
    struct tracee *removed; /* not freed yet */
};

void tracees_free(struct tracees *tracees);

/* The thread TID, borrowed until it is removed, or NULL. */
struct tracee *tracees_find(const struct tracees *tracees, pid_t tid);
/* A new one of PROCESS, BORN. */
struct tracee *tracees_add(struct tracees *tracees, struct process *process, pid_t tid);
/* It is DYING and remains readable until tracees_sweep; its process must be removed apart. */
void tracees_remove(struct tracees *tracees, struct tracee *tracee);
void tracees_sweep(struct tracees *tracees);

/* The process PID, borrowed until it is removed, or NULL. */
struct process *tracees_process(const struct tracees *tracees, pid_t pid);
struct process *tracees_add_process(struct tracees *tracees, pid_t pid);
void tracees_remove_process(struct tracees *tracees, struct process *process);

/* Asks a RUNNING one to stop; then it is AWAITED, or DYING when it is gone. */
void tracee_interrupt(struct tracee *tracee);
/* Lets one that stopped go on, with its signal. */
void tracee_resume(struct tracee *tracee);
/* Reads pc, in_kernel and completed of a stopped one. Returns whether it could. */
bool tracee_read_pc(struct tracee *tracee);
/* Does a RUNNING one wait in the kernel? Then its PC goes into pc without a stop, which would wake it. */
bool tracee_waits(struct tracee *tracee);
/* Reads its times, which are exact while it is on no CPU; a running one's are those of the scheduler's last look.
 * Returns whether it could. */
bool tracee_read_time(struct tracee *tracee, struct run_time *time);
/* The CPU time that it has used in this profile [ns]. */
uint64_t tracee_cpu(const struct tracee *tracee);
/* The CPU that it runs on or ran on last, -1: not known. */
int tracee_cpu_number(const struct tracee *tracee);
/* Its files are another thread's from now on (exec). */
void tracee_close(struct tracee *tracee);

/* CPU time of all threads that process PID has and had [ns], 0: not known. */
uint64_t process_cpu(pid_t pid);
/* The process that thread TID belongs to, and in *PARENT the one that made it. Returns -1 when it is gone. */
pid_t process_of(pid_t tid, pid_t *parent);
/* Is TID a thread of PID? */
bool process_has(pid_t pid, pid_t tid);
/* The name of PID, of at most SIZE - 1 bytes; "" when it is gone. */
void process_name(pid_t pid, char *name, size_t size);

#endif
