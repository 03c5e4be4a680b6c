/* When the next sample is due: at random or fixed intervals, less often when samples cost too much.
 *
 * A fixed interval can beat with a program of a similar period, which makes shares wrong by up to half; with
 * exponential intervals each moment is equally likely, whatever the program does (Poisson sampling).
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PACE_H
#define RECORD_ENGINES_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    bool random;
    double wanted;          /* mean interval [ns] */
    double most;            /* part of the time that samples may take, 0: no limit */
    double mean;            /* interval now [ns] */
    double cost;            /* of a sample, mean of about the last second [ns] */
    uint64_t last;          /* when the last sample ended [CLOCK_MONOTONIC] */
    uint64_t next;          /* CLOCK_MONOTONIC at which the next sample is due [ns] */
    uint64_t state;         /* of the random numbers */
    uint64_t taken, slowed; /* samples; those after which the rate was reduced for their cost */
    uint64_t missed;        /* samples that were due while the sampler did not run */
};

/* Samples at FREQUENCY [Hz], starting NOW, that may take the part MOST of the time; 0: no limit. */
void pace_start(struct pace *pace, double frequency, bool random, double most, uint64_t now);
/* A sample ended at END and cost the program COST [ns]: sets next. */
void pace_taken(struct pace *pace, uint64_t end, uint64_t cost);

#endif
