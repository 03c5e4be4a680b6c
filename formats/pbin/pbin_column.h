/* A column of unsigned integers, bit-packed as differences from the smallest ("frame of reference"):
 * u8 width [bits], u64 base, then COUNT values of WIDTH bits, least significant bit first, padded to
 * whole bytes. Value i is base + bits[i * width ... +width].
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_COLUMN_H
#define FORMATS_PBIN_PBIN_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Appends the column of VALUES to BUFFER. */
void column_put(struct buffer *buffer, const uint64_t *values, size_t count);

/* No value is below LEAST or above MOST. */
struct column_bounds {
    uint64_t least, most;
};

/* A column, read block by block. Empty when zeroed; column_free releases its memory. */
struct column {
    uint64_t *values; /* [count] */
    size_t count, capacity;
    struct column_bounds bounds; /* may be loose, unless equal */
    struct buffer packed;        /* source of VALUES, if it is small */
};
void column_free(struct column *column);

/* Reads a column of COUNT values. At least 8 bytes must be readable after the cursor's data (in a block, they are its
 * checksum). Returns 1, 0 if the values are unchanged, or -1 if the data is too short or the width invalid. */
int column_get(struct column *column, struct cursor *in, size_t count);

/* The smallest and the largest value; both 0 if COUNT is 0. */
struct column_bounds column_range(const uint64_t *values, size_t count);

/* The portable part of column_put: packs values of WIDTH bits, 1 to 64, into whole 64-bit words. */
void column_pack(uint8_t *packed, const uint64_t *values, size_t count, uint64_t base,
                 unsigned width);

/* The portable part of column_get: unpacks values of WIDTH bits, 0 to 64. With AVX-512 or AVX2,
 * column_get is faster and gives the same result. At least 8 bytes must be readable after the
 * values. */
void column_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                   size_t count);

#endif
