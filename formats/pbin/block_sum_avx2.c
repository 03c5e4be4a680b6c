/* The checksum of blocks with AVX2, which takes half the time. xxHash chooses instructions when it is compiled, hence a copy in
 * a file of its own.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/block_sum.h"

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx2")
#define XXH_INLINE_ALL
#include <xxhash.h>

bool block_sum_avx2_supported(void)
{
    return __builtin_cpu_supports("avx2");
}

uint64_t block_sum_avx2(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}
#else
bool block_sum_avx2_supported(void)
{
    return false;
}

uint64_t block_sum_avx2(const void *data, size_t size)
{
    (void)data, (void)size; /* never called */
    return 0;
}
#endif
