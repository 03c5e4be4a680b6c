/* Divides a whole in proportion to successive parts, so that nothing is lost by rounding.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_DIVISION_H
#define CONVERT_PROF2PBIN_DIVISION_H

#include <stdint.h>

/* VALUE * PART / WHOLE, rounded down; PART <= WHOLE. 0 if WHOLE is 0. */
static inline uint64_t division_scale(uint64_t value, uint64_t part, uint64_t whole)
{
    uint64_t product;
    if (whole == 0)
        return 0;
    if (!__builtin_mul_overflow(value, part, &product))
        return product / whole;
    return (uint64_t)((unsigned __int128)value * part / whole);
}

/* The parts and shares so far. All zero: none. */
struct division {
    uint64_t used, given;
};

/* The share of TOTAL of the next part, PART of WHOLE. TOTAL and WHOLE are the same for all parts. */
static inline uint64_t division_next(struct division *division, uint64_t total, uint64_t part,
                                     uint64_t whole)
{
    division->used += part;
    uint64_t due = division_scale(total, division->used, whole), share = due - division->given;
    division->given = due;
    return share;
}

#endif
