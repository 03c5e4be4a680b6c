/* A column of unsigned integers, bit-packed as differences from its smallest ("frame of
 * reference"): u8 width [bits], u64 base, then COUNT values of WIDTH bits, least significant
 * bit first, padded to whole bytes. Value i is base + bits[i * width ... +width].
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_COLUMN_H
#define FORMATS_PBIN_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Appends the column of VALUES to BUFFER. */
void column_put(struct buffer *buffer, const uint64_t *values, size_t count);

/* Reads a column of COUNT values into VALUES; none is above *MOST (which may be far above all of
 * them). At least 8 bytes must be readable behind the cursor's data (in a block its checksum stands
 * there). Returns 0, or -1 when the data is too short or the width impossible. */
int column_get(struct cursor *in, uint64_t *values, size_t count, uint64_t *most);

/* The smallest and the greatest value; 0 and 0 of none. */
void column_range(const uint64_t *values, size_t count, uint64_t *least, uint64_t *most);

/* The part of column_get that every machine can do: values of WIDTH bits, 0 to 64; where there are
 * vectors of 512 bits, column_get is faster and gives the same. At least 8 bytes must be readable
 * behind the values. */
void column_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                   size_t count);

#endif
