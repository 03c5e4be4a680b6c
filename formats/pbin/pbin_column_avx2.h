/* Unpacks columns with AVX2, eight values at a time.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_COLUMN_AVX2_H
#define FORMATS_PBIN_PBIN_COLUMN_AVX2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the processor have AVX2? */
bool column_avx2_supported(void);

/* Unpacks the first of GROUPS * 8 values of BASE plus 1 to AVX512_MAX_WIDTH bits; a group takes WIDTH bytes. At least
 * 8 bytes must be readable after the last value. Returns how many groups: the last few are left, because loads of 16
 * bytes pass their end. Sets *MOST to their largest difference from BASE. */
size_t column_avx2_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                          size_t groups, uint64_t *most);

#endif
