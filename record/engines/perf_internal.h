/* Internal to record/engines/perf*.c: the state of a run of the perf engine.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_INTERNAL_H
#define RECORD_ENGINES_PERF_INTERNAL_H

#include "record/engine.h"
#include "record/engines/latency.h"
#include "record/engines/perf_open.h"
#include "record/engines/perf_ring.h"
#include "record/engines/perf_sets.h"
#include "record/engines/perf_switch.h"
#include "record/engines/perf_threads.h"
#include "record/engines/perf_window.h"
#include "record/engines/signals.h"
#include "record/engines/spawn.h"

struct engine_run {
    const struct engine_options *options;
    const struct engine_hooks *hooks;
    struct engine_result *result;
    struct signals signals;
    int signal_fd; /* signalfd for the signals taken */
    pid_t pid;     /* of the program; attached: the first one */
    bool attached, ran;
    bool prompt; /* this process has priority over all others */
    struct perf_setup setup;
    struct perf_rings *rings;
    struct perf_sets sets;
    struct perf_threads threads;
    struct perf_thread *ended; /* threads whose CPU time is still being reported */
    int *counters;             /* of all threads that inherited none, CPU by CPU */
    size_t counter_count, counter_capacity;
    struct perf_window window;
    struct perf_switch switches;
    uint64_t cpu_start;   /* CPU time that was counted while attaching [ns] */
    uint64_t start, last; /* start of the run; time of the last sample since */
    uint64_t expires;     /* 0: never */
    uint64_t next_check; /* time of the next check that all threads are sampled [CLOCK_MONOTONIC] */
    uint64_t born;       /* creation of the last thread [CLOCK_MONOTONIC] */
    uint64_t births;     /* threads so far */
    uint64_t checked;    /* when the rate was last checked */
    double phase;        /* 0..1: of the times between two looks at power */
    uint64_t worked,
        next_tick; /* when the rings were last read, when power is to be read [CLOCK_MONOTONIC] */
    uint64_t own_before, cpu_before, sightings_before; /* totals at that time */
    uint64_t sightings;                                /* so far */
    int stop_signal;                                   /* the terminal stopped the job ... */
    uint64_t stop_until;                               /* ... which holds until then */
    struct latency latency;
    bool sampling, sigterm_sent, over, gave_way;
    bool crowded; /* many threads are created and end */
};

static inline uint64_t perf_time(const struct engine_run *run, uint64_t clock)
{
    return clock > run->start ? clock - run->start : 0;
}

/* Reads the rings; handles records that affect the next samples at once. */
void perf_take(struct engine_run *run);
/* Processes the records that were read, in order of time, up to UNTIL [CLOCK_MONOTONIC]. */
void perf_deliver(struct engine_run *run, uint64_t until);
/* Finishes threads that ended well before NOW [CLOCK_MONOTONIC] although not all counters have reported their CPU
 * times. */
void perf_finish_ended(struct engine_run *run, uint64_t now);
/* Opens samplers for running threads that are not sampled; NOW [CLOCK_MONOTONIC]. */
void perf_check_threads(struct engine_run *run, uint64_t now);
/* Reads the CPU times of all threads that run on, at the end of the run. Returns when that was [CLOCK_MONOTONIC]. */
uint64_t perf_read_all(struct engine_run *run);
/* The last sample, at the end of the run: the CPU times of all remaining threads. */
void perf_finish_all(struct engine_run *run);
/* CPU time of all threads since the start of the run, by the counters [ns]. */
uint64_t perf_program_cpu(const struct engine_run *run);

#endif
