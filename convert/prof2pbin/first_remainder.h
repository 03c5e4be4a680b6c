/* Where the rounding of each of many sums starts.
 *
 * Of the sightings of a thread, a part p is moved: one each time the sum of p reaches 1. Threads that
 * are seen only a few times would all be rounded down if their sums started at 0.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_FIRST_REMAINDER_H
#define CONVERT_PROF2PBIN_FIRST_REMAINDER_H

#include <stdint.h>

/* The remainders of successive numbers, in units of 2^-32, are far apart: each is the previous one
 * plus the golden ratio, modulo 1. */
static inline uint32_t first_remainder(uint32_t number)
{
    return number * UINT32_C(0x9E3779B1);
}

#endif
