/* The checksum of blocks.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/block_sum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Shorter data gains nothing from AVX: most of the time is spent elsewhere. */
enum { LONG = 1024 };

uint64_t block_sum(const void *data, size_t size)
{
#ifdef BLOCK_SUM_COPIES
    if (size >= LONG && __builtin_cpu_supports("avx512f"))
        return block_sum_avx512(data, size);
    if (size >= LONG && __builtin_cpu_supports("avx2"))
        return block_sum_avx2(data, size);
#endif
    return XXH3_64bits(data, size);
}
