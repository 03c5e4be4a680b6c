/* Unpacks columns with AVX2, eight values at a time.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_COLUMN_AVX2_H
#define FORMATS_PBIN_PBIN_COLUMN_AVX2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether the processor supports AVX2. */
bool column_avx2_supported(void);

/* Unpacks most of GROUPS * 8 values: BASE plus 1 to AVX512_MAX_WIDTH bits each, WIDTH bytes per
 * group. At least 8 bytes must be readable after the last value. Returns the number of groups
 * unpacked; the last few are left, because loads of 16 bytes would pass their end. Sets *MOST to
 * the largest difference from BASE among the unpacked values. */
size_t column_avx2_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                          size_t groups, uint64_t *most);

#endif
