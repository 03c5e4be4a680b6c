/* The checksum of blocks with AVX-512, which takes a third of the time. xxHash chooses instructions when it is compiled, hence
 * a copy in a file of its own.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/block_sum.h"

#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("avx512f")
#define XXH_INLINE_ALL
#include <xxhash.h>

bool block_sum_avx512_supported(void)
{
    return __builtin_cpu_supports("avx512f");
}

uint64_t block_sum_avx512(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}
#else
bool block_sum_avx512_supported(void)
{
    return false;
}

uint64_t block_sum_avx512(const void *data, size_t size)
{
    (void)data, (void)size; /* never called */
    return 0;
}
#endif
