/* A column of unsigned integers, bit-packed.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin_column.h"

#include "base/bytes.h"

/* Loops over whole columns gain most from vectors: where the compiler can choose at start-up, it does. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORS
#endif

VECTORS
static void range(const uint64_t *values, size_t count, uint64_t *least, uint64_t *most)
{
    uint64_t low = count > 0 ? values[0] : 0, high = low;
    for (size_t i = 0; i < count; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    *least = low;
    *most = high;
}

static size_t packed_size(size_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Fills 64-bit words from the low end; a value that does not fit goes on in the next. */
static void pack(uint8_t *out, const uint64_t *values, size_t count, uint64_t base, unsigned width)
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
        word = used < 64 ? value >> (64 - used) : value;
        used = used + width - 64;
    }
    if (used > 0)
        put_u64le(out, word);
}

void column_put(struct buffer *buffer, const uint64_t *values, size_t count)
{
    uint64_t base, most;
    range(values, count, &base, &most);
    unsigned width = most == base ? 0 : 64 - (unsigned)__builtin_clzll(most - base);
    buffer_u8(buffer, (uint8_t)width);
    buffer_u64(buffer, base);
    if (width == 0)
        return;
    size_t size = packed_size(count, width);
    uint8_t *out = buffer_extend(buffer, size + 8); /* whole words are stored, the excess cut */
    pack(out, values, count, base, width);
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

int column_get(struct cursor *in, uint64_t *values, size_t count)
{
    unsigned width = cursor_u8(in);
    uint64_t base = cursor_u64(in);
    if (in->bad || width > 64)
        return -1;
    const uint8_t *packed = cursor_bytes(in, packed_size(count, width));
    if (packed == NULL)
        return -1;
    if (width == 0)
        for (size_t i = 0; i < count; i++)
            values[i] = base;
    else if (width <= 57)
        unpack_narrow(packed, width, base, values, count);
    else
        unpack_wide(packed, width, base, values, count);
    return 0;
}
