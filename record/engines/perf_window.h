/* What is handed over: sightings, and the time in which nobody ran.
 *
 * A sighting says that a thread used CPU, and samples come only while some thread does. The interval before a sample is
 * the sample's, with its energy; so the time in which no thread ran has to end with samples of its own, without threads.
 * How long that was is known for windows of 10 ms or more, from the counters of CPU time: sightings are kept until a
 * window ends, and of each interval in it the same part was idle.
 *
 *   |<----- interval ----->|<----- interval ----->|          | sighting
 *   |.........:############|.........:############|....      : sample without threads
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_WINDOW_H
#define RECORD_ENGINES_PERF_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/engine.h"

struct engine_run;

/* Zeroed it is empty and begins at time 0. */
struct perf_window {
    struct perf_entry {
        uint64_t time; /* [ns of the run] */
        bool alone;    /* of a final CPU time: not to wait for the next sighting */
        struct engine_thread thread;
    } * entries;
    size_t count, capacity;
    struct engine_thread *threads; /* of the sample to come */
    size_t thread_count, thread_capacity;
    uint64_t cpu, clock; /* CPU time of the program, at the begin [CLOCK_MONOTONIC] */
    uint64_t length;     /* of a window at least [ns] */
};

void perf_window_free(struct perf_window *window);
void perf_window_add(struct engine_run *run, uint64_t time, const struct engine_thread *thread);
/* The last one added comes in a sample of its own, if it is a final CPU time. */
void perf_window_alone(struct engine_run *run);
/* Ends the window at time UNTIL of the run, if it has its length, or at once. */
void perf_window_end(struct engine_run *run, uint64_t until, bool at_once);
/* The last sample of the run, at TIME: all final CPU times that are left. */
void perf_window_close(struct engine_run *run, uint64_t time);

#endif
