/* Packs and unpacks columns with AVX-512, eight values at a time.
 *
 * Eight values fill exactly WIDTH bytes, and 8 bytes cover each value, so that the same shuffle and
 * shifts fit every group of eight.
 *
 *   bytes   |0       |1       |2       |...          lane 0: bytes 0.. >> 0
 *   values  |000000000000|111111111111|2222...       lane 1: bytes 1.. >> 4      (WIDTH 12)
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin_column_avx512.h"

#include "base/bytes.h"

#ifdef __x86_64__
#include <immintrin.h>

bool column_avx512_supported(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
}

/* Values of up to 7 bits: a group fits in one word. */
__attribute__((target("avx512f"))) static void
pack_words(uint8_t *packed, unsigned width, uint64_t base, const uint64_t *values, size_t groups)
{
    uint64_t skip[8];
    for (unsigned lane = 0; lane < 8; lane++)
        skip[lane] = (uint64_t)lane * width;
    const __m512i shift = _mm512_loadu_si512(skip), bases = _mm512_set1_epi64((long long)base);
    for (size_t i = 0; i < groups; i++, packed += width, values += 8) {
        __m512i lanes = _mm512_sub_epi64(_mm512_loadu_si512(values), bases);
        put_u64le(packed, (uint64_t)_mm512_reduce_or_epi64(_mm512_sllv_epi64(lanes, shift)));
    }
}

/* Wider values: no two values in even lanes share a byte, and no two in odd lanes do, so each byte
 * is the OR of at most two values. */
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) static void
pack_bytes(uint8_t *packed, unsigned width, uint64_t base, const uint64_t *values, size_t groups)
{
    uint8_t from[2][64] = {{0}};
    uint64_t used[2] = {0}, skip[8];
    for (unsigned lane = 0; lane < 8; lane++) {
        unsigned first = lane * width / 8, last = ((lane + 1) * width - 1) / 8;
        skip[lane] = lane * width % 8;
        for (unsigned byte = first; byte <= last; byte++) {
            from[lane % 2][byte] = (uint8_t)(8 * lane + byte - first);
            used[lane % 2] |= UINT64_C(1) << byte;
        }
    }
    const __m512i even = _mm512_loadu_si512(from[0]), odd = _mm512_loadu_si512(from[1]);
    const __m512i shift = _mm512_loadu_si512(skip), bases = _mm512_set1_epi64((long long)base);
    for (size_t i = 0; i < groups; i++, packed += width, values += 8) {
        __m512i lanes =
            _mm512_sllv_epi64(_mm512_sub_epi64(_mm512_loadu_si512(values), bases), shift);
        __m512i bytes = _mm512_or_si512(_mm512_maskz_permutexvar_epi8(used[0], even, lanes),
                                        _mm512_maskz_permutexvar_epi8(used[1], odd, lanes));
        _mm512_mask_storeu_epi8(packed, used[0] | used[1], bytes);
    }
}

void column_avx512_pack(uint8_t *packed, unsigned width, uint64_t base, const uint64_t *values,
                        size_t groups)
{
    if (width < 8)
        pack_words(packed, width, base, values, groups);
    else
        pack_bytes(packed, width, base, values, groups);
}

__attribute__((target("avx512f,avx512bw,avx512vbmi"))) uint64_t
column_avx512_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                     size_t groups)
{
    uint8_t from[64];
    uint64_t skip[8];
    for (unsigned lane = 0; lane < 8; lane++) {
        skip[lane] = lane * width % 8;
        for (unsigned byte = 0; byte < 8; byte++)
            from[8 * lane + byte] = (uint8_t)(lane * width / 8 + byte);
    }
    const __m512i shuffle = _mm512_loadu_si512(from), shift = _mm512_loadu_si512(skip);
    const __m512i mask = _mm512_set1_epi64((long long)((UINT64_C(1) << width) - 1));
    const __m512i bases = _mm512_set1_epi64((long long)base);
    __m512i most = _mm512_setzero_si512();
    for (size_t i = 0; i < groups; i++, packed += width, values += 8) {
        __m512i bytes = _mm512_maskz_loadu_epi8((UINT64_C(1) << width) - 1, packed);
        __m512i lanes = _mm512_srlv_epi64(_mm512_permutexvar_epi8(shuffle, bytes), shift);
        lanes = _mm512_and_si512(lanes, mask);
        most = _mm512_max_epu64(most, lanes);
        _mm512_storeu_si512(values, _mm512_add_epi64(lanes, bases));
    }
    return _mm512_reduce_max_epu64(most);
}
#else
bool column_avx512_supported(void)
{
    return false;
}

void column_avx512_pack(uint8_t *packed, unsigned width, uint64_t base, const uint64_t *values,
                        size_t groups)
{
    (void)packed, (void)width, (void)base, (void)values, (void)groups; /* never called */
}

uint64_t column_avx512_unpack(const uint8_t *packed, unsigned width, uint64_t base,
                              uint64_t *values, size_t groups)
{
    (void)packed, (void)width, (void)base, (void)values, (void)groups;
    return 0;
}
#endif
