/* Sums that are exact, so that the order of adding never shows: 128-bit fixed point, and 256 bits
 * for squares.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_EXACT_H
#define BASE_EXACT_H

#include <stdbool.h>
#include <stdint.h>

/* A signed 128-bit integer that counts units of 2^-SHIFT of something. */
typedef __int128 exact;

enum {
    SAMPLES_SHIFT = 64, /* samples may be fractions (histogram bins that straddle functions) */
    TIME_SHIFT = 32,    /* of a nanosecond: a CPU shared by three threads gives each a third */
    ENERGY_SHIFT = 80   /* 8e-25 J steps, up to 1.4e14 J */
};

/* VALUE rounded to the nearest unit of 2^-SHIFT. Returns 0 where VALUE is not finite; saturates at the ends
 * of the range (exact_fits says so beforehand). */
exact exact_of_double(double value, int shift);
bool exact_fits(double value, int shift);

/* The nearest double of VALUE * 2^-SHIFT / DIVISOR; DIVISOR > 0. */
double exact_to_double(exact value, int shift, uint64_t divisor);

/* An unsigned 256-bit integer, least significant word first. */
struct wide {
    uint64_t word[4];
};

/* SUM += VALUE^2 */
void wide_add_square(struct wide *sum, exact value);
void wide_add(struct wide *sum, const struct wide *value);

/* Sample variance of N values from their exact SUM and sum of squares, both in units of 2^-SHIFT and its square:
 * (N * squares - sum^2) / (N * (N - 1)). The difference is taken exactly before it is rounded to double.
 * Returns 0 for N < 2. */
double exact_variance(exact sum, const struct wide *squares, uint64_t n, int shift);

#endif
