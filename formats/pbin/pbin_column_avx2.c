/* Unpacks columns with AVX2, eight values at a time.
 *
 * Eight values fill exactly WIDTH bytes. 16 bytes, starting where the first value begins, cover two
 * values. Two such loads make a vector of four values, and the same shuffles and shifts fit every
 * group of eight.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin_column_avx2.h"

#ifdef __x86_64__
#include <immintrin.h>

bool column_avx2_supported(void)
{
    return __builtin_cpu_supports("avx2");
}

/* How four values are moved to lanes: the bytes of each value, counted from the first byte of its
 * pair, and the number of bits to drop. */
struct four {
    size_t at[2]; /* first byte of each pair */
    uint8_t from[32];
    uint64_t skip[4];
};

static void plan(struct four *four, unsigned width, unsigned first)
{
    for (unsigned lane = 0; lane < 4; lane++) {
        size_t bit = (size_t)(first + lane) * width,
               pair = (size_t)(first + lane / 2 * 2) * width / 8;
        four->at[lane / 2] = pair;
        four->skip[lane] = bit % 8;
        for (unsigned byte = 0; byte < 8; byte++)
            four->from[8 * lane + byte] = (uint8_t)(bit / 8 - pair + byte);
    }
}

__attribute__((target("avx2"))) static inline __m256i load_four(const struct four *four,
                                                                const uint8_t *packed)
{
    __m256i bytes = _mm256_loadu2_m128i((const __m128i_u *)(packed + four->at[1]),
                                        (const __m128i_u *)(packed + four->at[0]));
    __m256i lanes = _mm256_shuffle_epi8(bytes, _mm256_loadu_si256((const __m256i_u *)four->from));
    return _mm256_srlv_epi64(lanes, _mm256_loadu_si256((const __m256i_u *)four->skip));
}

__attribute__((target("avx2"))) size_t column_avx2_unpack(const uint8_t *packed, unsigned width,
                                                          uint64_t base, uint64_t *values,
                                                          size_t groups, uint64_t *most)
{
    uint64_t each[4];
    struct four low, high;
    plan(&low, width, 0);
    plan(&high, width, 4);
    size_t beyond = high.at[1] + 16 > width + 8 ? high.at[1] + 16 - (width + 8) : 0;
    size_t left_out = (beyond + width - 1) / width,
           done = groups > left_out ? groups - left_out : 0;
    const __m256i mask = _mm256_set1_epi64x((long long)((UINT64_C(1) << width) - 1));
    const __m256i bases = _mm256_set1_epi64x((long long)base);
    __m256i top = _mm256_setzero_si256();
    for (size_t i = 0; i < done; i++, packed += width, values += 8) {
        __m256i a = _mm256_and_si256(load_four(&low, packed), mask);
        __m256i b = _mm256_and_si256(load_four(&high, packed), mask);
        __m256i larger = _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(b, a));
        top = _mm256_blendv_epi8(top, larger, _mm256_cmpgt_epi64(larger, top));
        _mm256_storeu_si256((__m256i_u *)values, _mm256_add_epi64(a, bases));
        _mm256_storeu_si256((__m256i_u *)(values + 4), _mm256_add_epi64(b, bases));
    }
    _mm256_storeu_si256((__m256i_u *)each, top);
    *most = 0;
    for (unsigned lane = 0; lane < 4; lane++)
        *most = each[lane] > *most ? each[lane] : *most;
    return done;
}
#else
bool column_avx2_supported(void)
{
    return false;
}

size_t column_avx2_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                          size_t groups, uint64_t *most)
{
    (void)packed, (void)width, (void)base, (void)values, (void)groups,
        (void)most; /* never called */
    return 0;
}
#endif
