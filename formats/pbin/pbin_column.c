/* A column of unsigned integers, bit-packed.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin_column.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/vectors.h"
#include "formats/pbin/pbin_eights.h"

enum { SMALL = 4096 }; /* bytes of a packed column that are worth keeping */

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

/* Fills 64-bit words from the low end; a value that does not fit goes on in the next. */
void column_pack(uint8_t *out, const uint64_t *values, size_t count, uint64_t base, unsigned width)
{
    uint64_t word = 0;
    unsigned used = 0;
    for (size_t i = 0; i < count;) {
        size_t whole = (64 - used) / width; /* values that fit */
        for (size_t end = i + whole < count ? i + whole : count; i < end; i++, used += width)
            word |= (values[i] - base) << used;
        if (i == count)
            break;
        uint64_t value = values[i++] - base; /* straddles, or finds no room at all */
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

/* How many times eight of COUNT values can be done at once. */
static size_t count_eights(size_t count, unsigned width)
{
    return width > 0 && width <= EIGHTS_WIDEST && eights_possible() ? count / 8 : 0;
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
    uint8_t *out = buffer_extend(buffer, size + 8); /* whole words are stored, the excess cut */
    size_t eights = count_eights(count, width);
    if (eights > 0)
        eights_pack(out, width, base, values, eights);
    column_pack(out + eights * width, values + 8 * eights, count - 8 * eights, base, width);
    buffer->size -= 8;
}

/* Up to 57 bits come with one unaligned load, whatever bit they start at. */
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

/* Aligned, as vectors that straddle cache lines are slow; never NULL. What was there is of no use any more. */
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
    size_t eights = count_eights(c->count, width);
    uint64_t range = width == 0 ? 0 : ~UINT64_C(0) >> (64 - width);
    if (eights > 0)
        eights_unpack(packed, width, base, c->values, eights);
    column_unpack(packed + eights * width, width, base, c->values + 8 * eights,
                  c->count - 8 * eights);
    c->bounds = (struct column_bounds){base, base + range};
    if (c->bounds.most < base) /* values are modulo 2^64 */
        c->bounds = (struct column_bounds){0, UINT64_MAX};
}

/* Threads come in the same order block after block, and what is constant is 9 bytes: a glance saves the work. */
static bool is_as_before(struct column *c, const uint8_t *data, size_t size, size_t count)
{
    if (size > SMALL) {
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
