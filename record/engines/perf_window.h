/* What is handed over: sightings, with the CPU time that each stands for, and the time in which nobody ran.
 *
 * Sightings come at random, but how much CPU time the program has used is known whenever its counters are read: that is
 * done at the end of windows of 10 ms or more, in which there were some sightings. Those of a window share the CPU time
 * of the window, in equal parts, which is more exact than an interval for each.
 *
 * The interval before a sample is the sample's, with its energy. So each sighting gets an equal part of the time in which
 * some thread ran, and the other time ends with samples of its own, without threads:
 *
 *   |.........:############|####|.........:####|......|          | sighting      : sample without threads
 *
 * A sighting is moved for that within its window, no further than need be, and stays in order. Power of a row is never
 * more than that of the machine then: CPU time is at least the time in which some thread ran.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_WINDOW_H
#define RECORD_ENGINES_PERF_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/engine.h"

struct engine_run;
struct perf_thread;

/* Zeroed it is empty and begins at time 0. */
struct perf_window {
    struct perf_entry {
        uint64_t time; /* [ns of the run] */
        bool
            total; /* the final CPU time of a thread that is in no table any more: freed along with it */
        bool alone; /* a total that is not to wait for the next sighting */
        struct perf_thread *thread;
        uint64_t pc, caller, cpu; /* CPU: of a total */
        uint8_t flags;
    } * entries;
    size_t count, capacity, sightings;
    struct engine_thread *threads; /* of the sample to come */
    size_t thread_count, thread_capacity;
    uint64_t cpu, clock; /* CPU time of the program, at the begin [CLOCK_MONOTONIC] */
    uint64_t length;     /* of a window at least [ns] */
};

void perf_window_free(struct perf_window *window);
/* ENTRY's thread is borrowed until the window ends, or taken with a total. */
void perf_window_add(struct engine_run *run, const struct perf_entry *entry);
/* The last one added comes in a sample of its own, if it is a total. */
void perf_window_alone(struct engine_run *run);
/* Ends the window at time UNTIL of the run, if it has its length, or at once. */
void perf_window_end(struct engine_run *run, uint64_t until, bool at_once);
/* The last sample of the run, at TIME: all totals that are left. */
void perf_window_close(struct engine_run *run, uint64_t time);

#endif
