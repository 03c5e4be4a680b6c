/* A column of unsigned integers, bit-packed as differences from its smallest ("frame of
 * reference"): u8 width [bits], u64 base, then COUNT values of WIDTH bits, least significant
 * bit first, padded to whole bytes. Value i is base + bits[i * width ... +width].
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

/* A column that is read block after block. Zeroed it is empty; column_free releases what it holds. */
struct column {
    uint64_t *values; /* [count] */
    size_t count, capacity;
    struct column_bounds bounds; /* may be far from the values, unless they are equal */
    struct buffer packed;        /* what VALUES were unpacked from, while that is small */
};
void column_free(struct column *column);

/* Reads a column of COUNT values. At least 8 bytes must be readable behind the cursor's data (in a block its checksum
 * stands there). Returns 1, 0 when all is as it was before the call, or -1 when the data is too short or the width
 * impossible. */
int column_get(struct column *column, struct cursor *in, size_t count);

/* The smallest and the greatest value; 0 and 0 of none. */
struct column_bounds column_range(const uint64_t *values, size_t count);

/* The part of column_put that every machine can do: values of WIDTH bits, 1 to 64, as whole words of 64 bits. */
void column_pack(uint8_t *packed, const uint64_t *values, size_t count, uint64_t base,
                 unsigned width);

/* The part of column_get that every machine can do: values of WIDTH bits, 0 to 64; where there are
 * vectors of 512 bits, column_get is faster and gives the same. At least 8 bytes must be readable
 * behind the values. */
void column_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                   size_t count);

#endif
