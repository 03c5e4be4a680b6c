/* Exact sums, independent of the order of additions: 128-bit fixed point, and 256 bits for squares.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_EXACT_H
#define BASE_EXACT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* A signed 128-bit integer in units of 2^-SHIFT. */
typedef __int128 exact;
#define EXACT_MAX ((exact)(~(unsigned __int128)0 >> 1))

enum {
    SAMPLES_SHIFT = 64, /* samples may be fractions (histogram bins that overlap functions) */
    TIME_SHIFT = 32,    /* of a nanosecond: three threads that share a CPU get a third each */
    ENERGY_SHIFT = 80   /* steps of 8e-25 J, up to 1.4e14 J */
};

/* The limit [units] below which 2^ROOM values can be added up. Built from its exponent, because it
 * is needed for every sample. */
static inline double exact_limit(int shift, int room)
{
    return double_of_bits((uint64_t)(1023 + 126 - shift - room) << 52);
}

/* Returns whether VALUE [units] is finite and so small that 2^ROOM values of its size can be added
 * up. */
static inline bool exact_fits(double value, int shift, int room)
{
    return fabs(value) < exact_limit(shift, room);
}

/* VALUE rounded to the nearest unit of 2^-SHIFT, halves to even, like sums of doubles; requires
 * exact_fits. A double is m * 2^(e - 1075) with a 53-bit integer m: m is shifted into place. */
static inline exact exact_of_double(double value, int shift)
{
    uint64_t bits = bits_of_double(value);
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int up = (int)(bits >> 52 & 0x7ff) - 1075 + shift;
    exact result = 0;
    if ((unsigned)up < 63) /* the common case: a product is faster than a 128-bit shift */
        return (exact)(value < 0 ? -(int64_t)mantissa : (int64_t)mantissa) * (INT64_C(1) << up);
    if (up >= 0)
        result = (exact)mantissa << (up & 127);
    else if (up > -55)
        result =
            (exact)((mantissa + (UINT64_C(1) << (-up - 1)) - 1 + (mantissa >> -up & 1)) >> -up);
    return value < 0 ? -result : result;
}

/* The double nearest to VALUE * 2^-SHIFT / DIVISOR; DIVISOR > 0. */
double exact_to_double(exact value, int shift, uint64_t divisor);

/* VALUE * 2^-SHIFT as a double, faster but with one or two rounding errors. */
static inline double exact_approximate(exact value, int shift)
{
    double unit = double_of_bits((uint64_t)(1023 - shift) << 52);
    return ((double)(int64_t)(value >> 64) * 0x1p64 + (double)(uint64_t)value) * unit;
}

/* An unsigned 256-bit integer, least significant word first. */
struct wide {
    uint64_t word[4];
};

/* SUM += VALUE^2 */
void wide_add_square(struct wide *sum, exact value);
void wide_add(struct wide *sum, const struct wide *value);

/* The sample variance of N values from their exact SUM [2^-SHIFT] and sum of SQUARES [2^-(2
 * SHIFT)]: (N * squares - sum^2) / (N * (N - 1)). The difference is exact before it is rounded to
 * double. Returns 0 for N < 2. */
double exact_variance(exact sum, const struct wide *squares, uint64_t n, int shift);

#endif
