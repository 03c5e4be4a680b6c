/* The threads that ptrace holds on to, and what can be read of each.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_TRACEE_H
#define RECORD_ENGINES_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*            interrupt            any stop              resume
 *  RUNNING ------------> AWAITED ----------> HELD ---------------> RUNNING, or LISTENING in a group
 * stop any state -- PTRACE_EVENT_EXIT --> DYING: runs its last steps, or is a zombie leader */
enum tracee_state { TRACEE_RUNNING, TRACEE_AWAITED, TRACEE_HELD, TRACEE_LISTENING, TRACEE_DYING };

struct tracee {
    struct tracee *chain; /* same bucket */
    size_t index;         /* in the list */
    pid_t tid;
    enum tracee_state state;
    bool stuck;             /* AWAITED for longer than a sample may take: nobody waits for it */
    bool group_stop;        /* HELD in a group stop: to listen, not to run, when resumed */
    bool asleep;            /* RUNNING, but it waited in the kernel when it was looked at */
    bool sampled;           /* pc is that of a sample */
    bool exiting;           /* its PTRACE_EVENT_EXIT has come */
    int signal;             /* to deliver when resumed, 0: none */
    int schedstat, syscall; /* file descriptors, -1: not open, -2: not to be had */
    uint64_t pc, cpu;
};

enum { TRACEE_BUCKETS = 1024 };

/* All of one process; PID set and the rest zeroed it is empty. */
struct tracees {
    pid_t pid;
    struct tracee **list; /* in no order */
    size_t count, capacity;
    size_t awaited; /* those AWAITED and not stuck */
    size_t alive;   /* those not DYING */
    struct tracee *buckets[TRACEE_BUCKETS];
};

void tracees_free(struct tracees *tracees);

/* The thread TID, borrowed until it is removed, or NULL. */
struct tracee *tracees_find(const struct tracees *tracees, pid_t tid);
/* A new one, AWAITED: the kernel stops a new thread before its first instruction. */
struct tracee *tracees_add(struct tracees *tracees, pid_t tid);
void tracees_remove(struct tracees *tracees, struct tracee *tracee);
/* Is TID a thread of the process? */
bool tracees_own(const struct tracees *tracees, pid_t tid);

void tracee_set_state(struct tracees *tracees, struct tracee *tracee, enum tracee_state state);
/* Nobody waits for an AWAITED one any longer. */
void tracee_give_up(struct tracees *tracees, struct tracee *tracee);

/* Asks a RUNNING one to stop; then it is AWAITED, or DYING when it is gone. */
void tracee_interrupt(struct tracees *tracees, struct tracee *tracee);
/* Lets one that stopped go on, with its signal. */
void tracee_resume(struct tracees *tracees, struct tracee *tracee);
/* The PC of a stopped one into pc. Returns whether it could be read. */
bool tracee_read_pc(struct tracee *tracee);
/* Does a RUNNING one wait in the kernel? Then its PC goes into pc without a stop, which would wake it. */
bool tracee_sleeps(const struct tracees *tracees, struct tracee *tracee);
/* Run time into cpu, exact for a stopped one or one that sleeps. Returns whether it could be read. */
bool tracee_read_cpu(const struct tracees *tracees, struct tracee *tracee);
/* Its files are another thread's from now on (exec). */
void tracee_close(struct tracee *tracee);

#endif
