/* The clock of the recorder.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_CLOCK_H
#define RECORD_CLOCK_H

#include <math.h>
#include <stdint.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

/* Returns CLOCK_MONOTONIC [ns]. */
static inline uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Returns the CPU time of this thread [ns]. */
static inline uint64_t clock_thread(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * SECOND + (uint64_t)used.tv_nsec;
}

/* Returns the time between two kernel ticks [ns]; 0: unknown. */
static inline uint64_t clock_tick(void)
{
    struct timespec tick;
    return clock_getres(CLOCK_REALTIME_COARSE, &tick) == 0 ? (uint64_t)tick.tv_nsec : 0;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
}

/* Returns the number in [0, 1) that follows PHASE in steps of the golden ratio, which match no
 * period of a program. */
static inline double clock_phase(double phase)
{
    return fmod(phase + 0.6180339887498949, 1);
}

#endif
