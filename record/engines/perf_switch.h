/* What switches between threads cost, and pauses of sampling that limit it.
 *
 * At each switch between two threads, the kernel takes the events of the one off the CPU and puts those of the other
 * on it. A sampler has a timer, which is stopped and started again; on a virtual machine that takes up to 12 us, more
 * than the switch. Threads that pass each other a byte all the time would take four times as long as without samplers.
 * This is CPU time of the program, not of this process.
 *
 * The cost of a switch is measured by events of this process, which are turned on and off again; the switches are
 * counted by the scheduler. If samplers make them cost more than --max-overhead, the samplers of all threads are on for a part of the
 * time only: for a few ms, then off for longer. The lengths of both are random, and a sampler that is on again continues in
 * its period where it was, so that all code is sampled at the same rate. The counters remain: they cost 1 to 2 us a switch.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_SWITCH_H
#define RECORD_ENGINES_PERF_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine_result;
struct engine_run;
struct perf_thread;

/* All zero: before perf_switch_start. */
struct perf_switch {
    int sampler, counter; /* file descriptors of events of this process; below 0: none */
    double sampled,
        counted;      /* what a switch costs while samplers are on, and while they are off [ns] */
    double phase;     /* 0..1: of the lengths of pauses */
    double part;      /* of the time, in which samplers are on */
    uint64_t turn;    /* when they are turned on or off; UINT64_MAX: never [CLOCK_MONOTONIC] */
    uint64_t turning; /* what that took the last time [ns] */
    uint64_t check;   /* when switches are counted again [CLOCK_MONOTONIC] */
    uint64_t fresh;   /* threads that have ended since, before they were looked at */
    uint64_t cpu_before;  /* of the program, at the last check [ns] */
    unsigned calm;        /* checks since pauses were needed */
    bool batch;           /* without pauses, periods are used for batches of samples ... */
    uint32_t wakeup;      /* ... and so many samples wake this process up */
    size_t place;         /* of the thread whose switches are counted next */
    double switches, cpu; /* lately: switches, and CPU time of the program [ns] */
    double all, cost;     /* since the start: switches, and what they have cost [ns] */
};

void perf_switch_start(struct engine_run *run);
void perf_switch_free(struct perf_switch *s);
/* Counts switches now and then, and turns samplers on and off when it is time; NOW [CLOCK_MONOTONIC]. */
void perf_switch_work(struct engine_run *run, uint64_t now);
/* THREAD has ended. */
void perf_switch_ended(struct perf_switch *s, const struct perf_thread *thread);
/* Sets the switches of RESULT and what they have cost. SWITCHES: of the whole program; 0: as many as were counted. */
void perf_switch_result(const struct perf_switch *s, uint64_t switches,
                        struct engine_result *result);

#endif
