/* Determines when the next sample is due: at random or fixed intervals, which become longer if
 * samples cost too much.
 *
 * Fixed intervals alias with a program that has a similar period: shares are wrong by up to half.
 * With exponential intervals each moment is equally likely for all programs (Poisson sampling).
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PACE_H
#define RECORD_ENGINES_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/random.h"

struct pace {
    bool random;
    double wanted;        /* mean interval [ns] */
    double most;          /* fraction of the time that samples may take; 0: no limit */
    double mean;          /* current mean interval [ns] */
    double cost;          /* mean cost of a sample over about the last second [ns] ... */
    double busy;          /* ... and from when it is due to its end */
    double other;         /* cost of everything else so far [ns] */
    uint64_t start, last; /* [CLOCK_MONOTONIC]; LAST: when the last sample ended */
    uint64_t next;        /* when the next sample is due [ns, CLOCK_MONOTONIC] */
    struct random numbers;
    uint64_t taken, slowed; /* samples; samples whose cost reduced the rate */
    uint64_t missed;        /* samples that were due while the sampler was not running */
};

/* Starts sampling at FREQUENCY [Hz], beginning at NOW [ns, CLOCK_MONOTONIC]. Samples may take at
 * most the fraction MOST of the time; 0: no limit. */
void pace_start(struct pace *pace, double frequency, bool random, double most, uint64_t now);
/* A sample ended at END and cost the program COST [ns]. Sets NEXT. */
void pace_taken(struct pace *pace, uint64_t end, uint64_t cost);
/* Something between samples cost the program COST [ns]: less is left for samples. */
void pace_spend(struct pace *pace, uint64_t cost);
/* Returns how long after its due time a sample begins at NOW because the sampler waited for a CPU
 * [ns]. If the sampler had WOKEN after the due time, this is the delay until then. If it woke
 * before and has handled events since, this is the time for which it WAITED meanwhile: a new
 * process often takes the CPU of the sampler, and keeps it until it calls the kernel. The time in
 * which the sampler was busy does not count, because it does not depend on what threads do. */
uint64_t pace_late(const struct pace *pace, uint64_t woken, uint64_t now, uint64_t waited);

#endif
