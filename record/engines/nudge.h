/* Makes the scheduler reschedule while a sample is taken.
 *
 * A thread that is resumed on the sampler's own CPU has received less than its share of CPU time,
 * because it was stopped. The scheduler therefore prefers it to a sampler without real-time
 * priority, and reschedules only at the next kernel tick, up to 4 ms later. Until then no samples
 * are taken, so that mostly the first thing that threads do after a wait is missed. A task that
 * wakes makes the scheduler reschedule at once. This task is a second thread of this process, on
 * the same CPU.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_NUDGE_H
#define RECORD_ENGINES_NUDGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* All zero: no thread. */
struct nudge {
    bool started;
    int timer; /* file descriptor */
    int cpu;   /* of the thread; -1: any */
    pthread_t thread;
    _Atomic pid_t tid; /* 0: not running yet */
    atomic_bool ended;
};

/* Starts the thread. If that fails (no file descriptors, threads or address space left), the other
 * functions do nothing. */
void nudge_start(struct nudge *nudge);
/* Makes the thread wake every 0.1 ms on the CPU of the caller, until nudge_pause. */
void nudge_resume(struct nudge *nudge);
void nudge_pause(struct nudge *nudge);
/* Ends the thread. */
void nudge_end(struct nudge *nudge);

/* Requests short time slices for the calling thread, so that it preempts others sooner (since Linux
 * 6.12). Its children do not inherit this. */
void nudge_short_slice(void);

#endif
