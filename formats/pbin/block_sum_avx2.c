/* The checksum of blocks with AVX2, which takes half the time. xxHash selects its instructions at
 * compile time, hence a copy in a separate file.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/block_sum.h"

#ifdef BLOCK_SUM_COPIES
#pragma GCC target("avx2")
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t block_sum_avx2(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}
#endif
