/* The CPU time that the whole machine has used, from /proc/stat.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_BUSY_H
#define RECORD_BUSY_H

#include <stddef.h>
#include <stdint.h>

struct busy {
    int fd;
    uint64_t due;       /* CLOCK_MONOTONIC [ns] of the next update */
    uint64_t last;      /* CPU time, as last read [ns] */
    uint64_t cpus;      /* number of CPUs that are online */
    uint64_t checked;   /* CLOCK_MONOTONIC [ns] when they were counted */
    uint64_t base;      /* CPU time at BASE_TIME [ns] */
    uint64_t base_time; /* CLOCK_MONOTONIC [ns]; 0: no values have been read */
    /* until then [ns]: time that CPUs were idle; that the host of a virtual machine took; CPU time by
     * ticks */
    uint64_t base_idle, base_stolen, base_ticks;
};

/* Opens /proc/stat. If that fails, all values are unknown. */
void busy_open(struct busy *busy);
void busy_close(struct busy *busy);
/* Returns the CPU time of all processes since the machine started [ns], in steps of a clock tick
 * (10 ms); NOW is CLOCK_MONOTONIC. 0: unknown. After the first call, it is the time in which CPUs
 * were not idle, which the kernel measures exactly; it counts CPU time only at its ticks, and misses
 * programs that timers wake between ticks, such as the sampler. */
uint64_t busy_read(struct busy *busy, uint64_t now);

/* The CPU time during a run, for values that are delivered after it: a point every 20 ms, less
 * often for long runs. */
struct busy_history {
    struct busy_point {
        uint64_t time, cpu_ns; /* CLOCK_MONOTONIC [ns], [ns] */
    } * points;
    size_t count, capacity;
    size_t at;     /* the point before the time that was last looked up */
    uint64_t step; /* minimum time between points [ns] */
};

/* Adds a point if it is time for one. TIME must not decrease. */
void busy_note(struct busy_history *history, uint64_t time, uint64_t cpu_ns);
/* Returns the CPU time at TIME, interpolated; before the first or after the last point, that of
 * this point; 0 without points. Fast if times ascend. */
uint64_t busy_at(struct busy_history *history, uint64_t time);
void busy_history_free(struct busy_history *history);

#endif
