/* Columns eight values at a time, where there are vectors of 512 bits that shuffle bytes.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_COLUMN_AVX512_H
#define FORMATS_PBIN_PBIN_COLUMN_AVX512_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AVX512_MAX_WIDTH = 57 }; /* bits that 8 bytes hold whatever bit they start at */

/* Can this machine do it? */
bool column_avx512_supported(void);

/* EIGHTS times eight values of 1 to AVX512_MAX_WIDTH bits above BASE, WIDTH bytes each; at least 8 bytes must be writable
 * behind the last. */
void column_avx512_pack(uint8_t *packed, unsigned width, uint64_t base, const uint64_t *values,
                        size_t groups);

/* And back; at least 8 bytes must be readable behind the last. */
void column_avx512_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                          size_t groups);

#endif
