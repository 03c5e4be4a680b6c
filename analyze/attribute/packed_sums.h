/* The sums of a row as four words in one vector, added independently.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_PACKED_SUMS_H
#define ANALYZE_ATTRIBUTE_PACKED_SUMS_H

#include "base/bytes.h"
#include "base/exact.h"

enum {
    PACKED_SEEN, /* low 32 bits: thread samples; above: entries */
    PACKED_CPU,  /* CPU time [ns] */
    PACKED_HIGH, /* energy, signed [2^-36 J] */
    PACKED_LOW,  /* the rest of it, signed [2^-80 J] */
    PACKED_WORDS,
};
#define PACKED_HIGH_SHIFT 36
typedef uint64_t packed_sums __attribute__((vector_size(PACKED_WORDS * 8)));
enum { PACKED_LANES = 4 }; /* sums per row if there are few rows; otherwise, there is one */

/* The limits for the values that one thread sample adds, and the number of thread samples that
 * fit. */
#define PACKED_MAX_J         0x1p7  /* energy must be below this, which is 128 kW at a kilohertz */
#define PACKED_MAX_STRETCH_J 0x1p14 /* for the energy of all thread samples of a stretch */
#define PACKED_MAX_NS        (UINT64_C(1) << 36) /* CPU time must be below this */
enum { PACKED_MAX_ADDED = 1 << 18 };

/* If a far smaller number is added to one of these, the last bit of the sum has the unit 2^-36 or
 * 2^-80. */
#define ROUND_HIGH 0x1.8p16
#define ROUND_LOW  0x1.8p-28

/* Splits an energy below PACKED_MAX_J into two words, like exact_of_double. */
static inline void packed_split(double value, uint64_t *high, uint64_t *low)
{
    double rounded = value + ROUND_HIGH, rest = value - (rounded - ROUND_HIGH) + ROUND_LOW;
    *high = bits_of_double(rounded) - bits_of_double(ROUND_HIGH);
    *low = bits_of_double(rest) - bits_of_double(ROUND_LOW);
}

/* A sum of energies. ANY: the bits of all of them. */
struct packed_words {
    uint64_t high, low, any;
};

/* Adds VALUE COUNT times. */
static inline void packed_add(struct packed_words *sum, double value, size_t count)
{
    uint64_t high, low;
    packed_split(value, &high, &low);
    sum->high += count * high;
    sum->low += count * low;
    sum->any |= high | low;
}

/* The energy in the words HIGH and LOW [2^-80 J]. */
static inline exact packed_energy(uint64_t high, uint64_t low)
{
    return (int64_t)high * ((exact)1 << (ENERGY_SHIFT - PACKED_HIGH_SHIFT)) + (int64_t)low;
}

#endif
