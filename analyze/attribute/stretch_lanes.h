/* Used by stretch*.c: vectors for the arrays of a stretch. Sums in this order
 * are the same on every machine.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_STRETCH_LANES_H
#define ANALYZE_ATTRIBUTE_STRETCH_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/attribute/stretch.h"
#include "base/vectors.h"

/* Rounding: powers that differ by less are equal, and shares that lack less are complete. */
#define SAME_POWER STRETCH_SAME_POWER
#define NOTHING    1e-12

/* There are two vectors, because compilers keep vectors in memory that do not fit in a register. */
enum { LANES = 8, HALF = LANES / 2 };
typedef double lanes __attribute__((vector_size(HALF * 8)));
typedef double loose __attribute__((vector_size(HALF * 8), aligned(8), may_alias));
typedef int64_t lane_bits __attribute__((vector_size(HALF * 8)));
typedef uint64_t lane_words __attribute__((vector_size(HALF * 8))); /* sums that may wrap */
typedef double pair __attribute__((vector_size(HALF / 2 * 8), aligned(8), may_alias));
#define LOAD(values) (*(const loose *)(values))
/* VALUE where LANE is set, otherwise OTHER or 0. */
#define BITS(value)     ((lane_bits)(value))
#define IF(lane, value) ((lanes)(BITS(lane) & BITS(value)))
#define EITHER(lane, value, other)                                                                 \
    ((lanes)((BITS(lane) & BITS(value)) | (~BITS(lane) & BITS(other))))

/* Appends zeros to COUNT values, up to a multiple of LANES. */
static inline void pad(double *values, size_t count)
{
    while (count % LANES != 0)
        values[count++] = 0;
}

INLINE double add_lanes(const lanes *low, const lanes *high)
{
    const lanes v = *low + *high;
    return (v[0] + v[2]) + (v[1] + v[3]);
}

#endif
