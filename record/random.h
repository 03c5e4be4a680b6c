/* Random numbers for the times of samples.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_RANDOM_H
#define RECORD_RANDOM_H

#include <stdint.h>

enum { RANDOM_STRATA = 32 };

struct random {
    uint64_t state;
    uint32_t strata[RANDOM_STRATA]; /* the first LEFT strata have not been used yet */
    uint32_t left;
};

/* Starts a sequence. SEED can have any value. */
void random_start(struct random *random, uint64_t seed);

/* Returns a number in (0, 1), independent of all others. */
double random_uniform(struct random *random);

/* The same, but each 32 consecutive numbers include one in each 32nd of (0, 1), in random order:
 * the sum of N exponential intervals from them has a variance of at most N / 32 + 11 squared means,
 * instead of N. Each single number is uniform; consecutive numbers have a correlation of -1/31.
 * (Stratified sampling: Cochran, Sampling Techniques, chapter 5.) */
double random_even(struct random *random);

#endif
