/* The sums of a row as four words in one vector, added independently.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_PACKED_SUMS_H
#define ANALYZE_ATTRIBUTE_PACKED_SUMS_H

#include "base/bytes.h"
#include "base/exact.h"

enum {
    PACKED_SEEN, /* thread samples, and entries above its low 32 bits */
    PACKED_CPU,  /* CPU time [ns] */
    PACKED_HIGH, /* energy: signed, [2^-36 J] */
    PACKED_LOW,  /* and signed, [2^-80 J] */
    PACKED_WORDS,
};
#define PACKED_HIGH_SHIFT 36
typedef uint64_t packed_sums __attribute__((vector_size(PACKED_WORDS * 8)));
enum { PACKED_LANES = 4 }; /* sums of one row, if there are few rows; else one */

/* Limits of what one thread sample adds, and the number of thread samples that fit. */
#define PACKED_MAX_J         0x1p7  /* less energy than this; at a kilohertz that is 128 kW */
#define PACKED_MAX_STRETCH_J 0x1p14 /* less energy than this of all thread samples of a stretch */
#define PACKED_MAX_NS        (UINT64_C(1) << 36) /* less CPU time than this */
enum { PACKED_MAX_ADDED = 1 << 18 };

/* The sum of these numbers and a far smaller one has 1 as its last bit in units of 2^-36 and 2^-80. */
#define ROUND_HIGH 0x1.8p16
#define ROUND_LOW  0x1.8p-28

/* exact_of_double of less than PACKED_MAX_J, in two words. */
static inline void packed_split(double value, uint64_t *high, uint64_t *low)
{
    double rounded = value + ROUND_HIGH, rest = value - (rounded - ROUND_HIGH) + ROUND_LOW;
    *high = bits_of_double(rounded) - bits_of_double(ROUND_HIGH);
    *low = bits_of_double(rest) - bits_of_double(ROUND_LOW);
}

/* A sum of energies; ANY: the bits of all of them. */
struct packed_words {
    uint64_t high, low, any;
};

/* Adds COUNT times VALUE. */
static inline void packed_add(struct packed_words *sum, double value, size_t count)
{
    uint64_t high, low;
    packed_split(value, &high, &low);
    sum->high += count * high;
    sum->low += count * low;
    sum->any |= high | low;
}

/* Energy [2^-80 J] in the words HIGH and LOW. */
static inline exact packed_energy(uint64_t high, uint64_t low)
{
    return (int64_t)high * ((exact)1 << (ENERGY_SHIFT - PACKED_HIGH_SHIFT)) + (int64_t)low;
}

#endif
