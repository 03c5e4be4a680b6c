/* The checksum of blocks: XXH3 of 64 bits, seed 0.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_BLOCK_SUM_H
#define FORMATS_PBIN_BLOCK_SUM_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of SIZE bytes of DATA. */
uint64_t block_sum(const void *data, size_t size);

/* The same with AVX-512 or AVX2, called by block_sum if the processor supports it. Not for Clang,
 * which ignores the pragma. */
#if defined(__x86_64__) && !defined(__clang__)
#define BLOCK_SUM_COPIES
#endif
uint64_t block_sum_avx512(const void *data, size_t size);
uint64_t block_sum_avx2(const void *data, size_t size);

#endif
