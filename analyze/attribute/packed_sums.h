/* The sums of a row as four words in one vector, added independently.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_PACKED_SUMS_H
#define ANALYZE_ATTRIBUTE_PACKED_SUMS_H

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

/* Limits of what one thread sample adds, and the number of thread samples that fit. */
#define PACKED_MAX_J         0x1p7  /* less energy than this; at a kilohertz that is 128 kW */
#define PACKED_MAX_STRETCH_J 0x1p14 /* less energy than this of all thread samples of a stretch */
#define PACKED_MAX_NS        (UINT64_C(1) << 36) /* less CPU time than this */
enum { PACKED_MAX_ADDED = 1 << 18 };

/* Energy [2^-80 J] in the words HIGH and LOW. */
static inline exact packed_energy(uint64_t high, uint64_t low)
{
    return (int64_t)high * ((exact)1 << (ENERGY_SHIFT - PACKED_HIGH_SHIFT)) + (int64_t)low;
}

#endif
