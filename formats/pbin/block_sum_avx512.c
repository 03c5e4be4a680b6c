/* The checksum of blocks with AVX-512, which takes a third of the time. xxHash selects its
 * instructions at compile time, hence a copy in a separate file.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/block_sum.h"

#ifdef BLOCK_SUM_COPIES
#pragma GCC target("avx512f")
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t block_sum_avx512(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}
#endif
