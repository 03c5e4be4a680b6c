/* Packs and unpacks columns with AVX-512, eight values at a time.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_COLUMN_AVX512_H
#define FORMATS_PBIN_PBIN_COLUMN_AVX512_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AVX512_MAX_WIDTH = 57 }; /* bits that fit in 8 bytes for every start bit */

/* Returns whether the processor supports AVX-512 BW and VBMI. */
bool column_avx512_supported(void);

/* Packs GROUPS * 8 values: BASE plus 1 to AVX512_MAX_WIDTH bits each, WIDTH bytes per group. At
 * least 8 bytes must be writable after the last value. */
void column_avx512_pack(uint8_t *packed, unsigned width, uint64_t base, const uint64_t *values,
                        size_t groups);

/* The inverse; at least 8 bytes must be readable after the last value. Returns the largest
 * difference from BASE. */
uint64_t column_avx512_unpack(const uint8_t *packed, unsigned width, uint64_t base,
                              uint64_t *values, size_t groups);

#endif
