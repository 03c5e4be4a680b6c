/* Random numbers for the times of samples.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_RANDOM_H
#define RECORD_RANDOM_H

#include <stdint.h>

enum { RANDOM_STRATA = 32 };

struct random {
    uint64_t state;
    uint32_t strata[RANDOM_STRATA]; /* the first LEFT ones have not been used yet */
    uint32_t left;
};

/* SEED can have any value. */
void random_start(struct random *random, uint64_t seed);

/* A number in (0, 1), independent of all others. */
double random_uniform(struct random *random);

/* The same, but each 32 in a row have one number in each 32nd of (0, 1), in random order: the sum of N exponential intervals
 * from them has a variance of N / 32 + 11 squared means at most, not N. Each number alone is uniform; numbers that follow each
 * other have a correlation of -1/31. (Stratified sampling: Cochran, Sampling Techniques, chapter 5.) */
double random_even(struct random *random);

#endif
