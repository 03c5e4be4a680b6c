/* Random numbers for the times of samples.
 * SPDX-License-Identifier: MIT */
#include "record/random.h"

void random_start(struct random *random, uint64_t seed)
{
    *random = (struct random){.state = seed | 1};
}

/* xorshift64*; see Vigna, An experimental exploration of Marsaglia's xorshift generators (2016). */
static uint64_t next(struct random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return random->state * UINT64_C(0x2545F4914F6CDD1D);
}

double random_uniform(struct random *random)
{
    return ((double)(next(random) >> 11) + 0.5) * 0x1p-53;
}

double random_even(struct random *random)
{
    if (random->left == 0) {
        random->left = RANDOM_STRATA;
        for (uint32_t i = 0; i < RANDOM_STRATA; i++)
            random->strata[i] = i;
    }
    uint64_t at = (next(random) >> 32) * random->left >> 32;
    uint32_t stratum = random->strata[at];
    random->strata[at] = random->strata[--random->left];
    return (stratum + random_uniform(random)) / RANDOM_STRATA;
}
