/* A column of unsigned integers, bit-packed.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin_column.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/vectors.h"
#include "formats/pbin/pbin_column_avx2.h"
#include "formats/pbin/pbin_column_avx512.h"

enum { MAX_KEPT = 4096 }; /* largest packed column worth keeping [bytes] */

VECTORS
struct column_bounds column_range(const uint64_t *values, size_t count)
{
    uint64_t low = count > 0 ? values[0] : 0, high = low;
    for (size_t i = 0; i < count; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    return (struct column_bounds){low, high};
}

static size_t packed_size(size_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Fills 64-bit words from the low end; a value that does not fit continues in the next. */
void column_pack(uint8_t *out, const uint64_t *values, size_t count, uint64_t base, unsigned width)
{
    uint64_t word = 0;
    unsigned used = 0;
    for (size_t i = 0; i < count;) {
        size_t whole = (64 - used) / width; /* values that fit entirely */
        for (size_t end = i + whole < count ? i + whole : count; i < end; i++, used += width)
            word |= (values[i] - base) << used;
        if (i == count)
            break;
        uint64_t value = values[i++] - base; /* straddles two words, or begins the next */
        word |= used < 64 ? value << used : 0;
        put_u64le(out, word);
        out += 8;
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): used > 0, an empty word holds a value */
        word = used < 64 ? value >> (64 - used) : value;
        used = used + width - 64;
    }
    if (used > 0)
        put_u64le(out, word);
}

/* The number of groups of eight, out of COUNT values, that AVX-512 can process. */
static size_t count_groups(size_t count, unsigned width)
{
    return width > 0 && width <= AVX512_MAX_WIDTH && column_avx512_supported() ? count / 8 : 0;
}

void column_put(struct buffer *buffer, const uint64_t *values, size_t count)
{
    const struct column_bounds range = column_range(values, count);
    uint64_t base = range.least, most = range.most - base;
    unsigned width = most == 0 ? 0 : 64 - (unsigned)__builtin_clzll(most);
    buffer_u8(buffer, (uint8_t)width);
    buffer_u64(buffer, base);
    if (width == 0)
        return;
    size_t size = packed_size(count, width);
    uint8_t *out =
        buffer_extend(buffer, size + 8); /* whole words are stored; the excess is dropped */
    size_t groups = count_groups(count, width);
    if (groups > 0)
        column_avx512_pack(out, width, base, values, groups);
    column_pack(out + groups * width, values + 8 * groups, count - 8 * groups, base, width);
    buffer->size -= 8;
}

/* One unaligned load covers up to 57 bits, at whatever bit they start. */
static void unpack_narrow(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                          size_t count)
{
    uint64_t mask = (UINT64_C(1) << width) - 1;
    for (size_t i = 0, bit = 0; i < count; i++, bit += width)
        values[i] = base + ((get_u64(packed + bit / 8, false) >> bit % 8) & mask);
}

static void unpack_wide(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                        size_t count)
{
    uint64_t mask = ~UINT64_C(0) >> (64 - width);
    for (size_t i = 0, bit = 0; i < count; i++, bit += width) {
        unsigned skip = bit % 8;
        uint64_t value = get_u64(packed + bit / 8, false) >> skip;
        if (skip + width > 64)
            value |= (uint64_t)packed[bit / 8 + 8] << (64 - skip);
        values[i] = base + (value & mask);
    }
}

void column_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                   size_t count)
{
    if (width == 0)
        for (size_t i = 0; i < count; i++)
            values[i] = base;
    else if (width <= 57)
        unpack_narrow(packed, width, base, values, count);
    else
        unpack_wide(packed, width, base, values, count);
}

void column_free(struct column *c)
{
    free(c->values);
    buffer_free(&c->packed);
}

/* Makes room for COUNT values: aligned, because vectors that straddle cache lines are slow, and
 * never NULL. Existing values are lost. */
static void reserve(struct column *c, size_t count)
{
    if (count < c->capacity)
        return;
    free(c->values);
    c->capacity = (count / 8 + 1) * 8;
    c->values = mem_aligned(64, c->capacity, sizeof *c->values);
}

static void unpack(struct column *c, const uint8_t *packed, unsigned width, uint64_t base)
{
    size_t groups = count_groups(c->count, width);
    uint64_t range = width == 0 ? 0 : ~UINT64_C(0) >> (64 - width), most = range;
    if (groups > 0)
        most = column_avx512_unpack(packed, width, base, c->values, groups);
    else if (width > 0 && width <= AVX512_MAX_WIDTH && column_avx2_supported())
        groups = column_avx2_unpack(packed, width, base, c->values, c->count / 8, &most);
    uint64_t *rest = c->values + 8 * groups;
    column_unpack(packed + groups * width, width, base, rest, c->count - 8 * groups);
    if (base + range < base) { /* wrapped: values are modulo 2^64 */
        c->bounds = (struct column_bounds){0, UINT64_MAX};
        return;
    }
    for (size_t i = 8 * groups; i < c->count && most < range; i++)
        most = c->values[i] - base > most ? c->values[i] - base : most;
    c->bounds = (struct column_bounds){base, base + most};
}

/* Returns whether the packed data is the same as in the previous block. Threads repeat in the same
 * order in every block, and a constant column has 9 bytes, so comparing is cheaper than
 * unpacking. */
static bool is_as_before(struct column *c, const uint8_t *data, size_t size, size_t count)
{
    if (size > MAX_KEPT) {
        c->packed.size = 0;
        return false;
    }
    if (c->count == count && c->packed.size == size && memcmp(c->packed.data, data, size) == 0)
        return true;
    c->packed.size = 0;
    buffer_bytes(&c->packed, data, size);
    return false;
}

int column_get(struct column *c, struct cursor *in, size_t count)
{
    size_t begin = in->at;
    unsigned width = cursor_u8(in);
    uint64_t base = cursor_u64(in);
    if (in->bad || width > 64)
        return -1;
    const uint8_t *packed = cursor_bytes(in, packed_size(count, width));
    if (packed == NULL)
        return -1;
    if (is_as_before(c, in->data + begin, in->at - begin, count))
        return 0;
    reserve(c, count);
    c->count = count;
    unpack(c, packed, width, base);
    return 1;
}
