/* Columns of every width are unpacked correctly, with and without vector instructions.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "formats/pbin/pbin_column.h"
#include "formats/pbin/pbin_column_avx2.h"
#include "formats/pbin/pbin_column_avx512.h"

enum { MAX_COUNT = 100 };

static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Whether BUFFER, a packed column of VALUES, has the bytes that every machine writes. */
static bool packs_alike(const struct buffer *buffer, const uint64_t *values, size_t count)
{
    uint8_t packed[8 * MAX_COUNT + 8];
    uint64_t base = 0;
    for (int i = 0; i < 8; i++)
        base |= (uint64_t)buffer->data[1 + i] << 8 * i;
    column_pack(packed, values, count, base, buffer->data[0]);
    return memcmp(packed, buffer->data + 9, buffer->size - 9) == 0;
}

/* Whether AVX2, which column_get does not use if there is AVX-512, unpacks the same VALUES, up to
 * the last one that it handles. */
static bool unpacks_alike(const uint8_t *packed, unsigned width, uint64_t base,
                          const uint64_t *values, size_t count)
{
    uint64_t unpacked[MAX_COUNT], most, expected = 0;
    if (!column_avx2_supported() || width == 0 || width > AVX512_MAX_WIDTH)
        return true;
    size_t groups = column_avx2_unpack(packed, width, base, unpacked, count / 8, &most);
    for (size_t i = 0; i < 8 * groups; i++)
        expected = values[i] - base > expected ? values[i] - base : expected;
    return most == expected && groups <= count / 8 && (groups > 0 || count < 8 * 9) &&
           memcmp(unpacked, values, groups * 8 * 8) == 0;
}

/* Packs COUNT values of at most WIDTH bits above BASE and unpacks them in both ways. */
static void round_trip(struct check *check, unsigned width, size_t count, uint64_t base,
                       uint64_t *state)
{
    uint64_t values[MAX_COUNT] = {0}, portable[MAX_COUNT];
    struct column column = {0};
    uint64_t mask = width == 0 ? 0 : ~UINT64_C(0) >> (64 - width);
    struct buffer buffer = {0};
    for (size_t i = 0; i < count; i++)
        values[i] = base + (random_bits(state) & mask);
    column_put(&buffer, values, count);
    if (width > 0 && buffer.data[0] > 0 && !packs_alike(&buffer, values, count))
        CHECK_FAIL("width %u, %zu values packed", width, count);
    uint8_t *data = mem_alloc(buffer.size + 8); /* only these bytes may be read */
    memcpy(data, buffer.data, buffer.size);
    memset(data + buffer.size, 0xff, 8);
    struct cursor in = {.data = data, .size = buffer.size};
    uint64_t packed_base = 0;
    for (int i = 0; i < 8; i++)
        packed_base |= (uint64_t)data[1 + i] << 8 * i;
    int got = column_get(&column, &in, count);
    column_unpack(data + 9, data[0], packed_base, portable, count);
    bool alike = unpacks_alike(data + 9, data[0], packed_base, portable, count);
    struct column_bounds range = column_range(values, count), bounds = column.bounds;
    bool same = got == 1 && alike &&
                (count == 0 || memcmp(values, column.values, count * 8) == 0) &&
                memcmp(values, portable, count * 8) == 0;
    column_free(&column);
    free(data);
    buffer_free(&buffer);
    bool bounded = bounds.least <= range.least && bounds.most >= range.most;
    if (!same || (count > 0 && !bounded))
        CHECK_FAIL("width %u, %zu values", width, count);
}

static void every_width_comes_back(struct check *check)
{
    uint64_t state = 88172645463325252;
    for (unsigned width = 0; width <= 64; width++)
        for (size_t count = 0; count <= MAX_COUNT; count++) {
            round_trip(check, width, count, width == 64 ? 0 : random_bits(&state) >> width, &state);
            if (check->why[0] != '\0')
                return;
        }
}

static void bounds_do_not_wrap(struct check *check)
{
    uint8_t data[9 + 16] = {7, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct cursor in = {.data = data, .size = 9 + 7};
    struct column column = {0};
    CHECK_EQ(column_get(&column, &in, 8), 1);
    CHECK(column.bounds.least == 0 && column.bounds.most == UINT64_MAX);
    CHECK(column.values[7] == UINT64_MAX - 15);
    column_free(&column);
}

/* The same bytes are not unpacked a second time; different ones are, even if their size is the
 * same. */
static void only_what_changes_is_unpacked(struct check *check)
{
    uint64_t values[2][2 * MAX_COUNT];
    struct buffer packed[2] = {{0}};
    struct column column = {0};
    for (uint64_t i = 0; i < 2 * MAX_COUNT; i++) {
        values[0][i] = i % 2;
        values[1][i] = i % 2 + (i == 150);
    }
    for (int i = 0; i < 2; i++) {
        column_put(&packed[i], values[i], 2 * MAX_COUNT);
        buffer_u64(&packed[i], 0);
    }
    const struct {
        int which;
        size_t count;
        int expected;
    } steps[] = {{0, 200, 1}, {0, 200, 0}, {1, 200, 1}, {1, 200, 0},
                 {0, 200, 1}, {0, 199, 1}, {0, 200, 1}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct buffer *from = &packed[steps[i].which];
        struct cursor in = {.data = from->data, .size = from->size - 8};
        CHECK_EQ(column_get(&column, &in, steps[i].count), steps[i].expected);
        CHECK(memcmp(column.values, values[steps[i].which], 8 * steps[i].count) == 0);
    }
    column_free(&column);
    for (int i = 0; i < 2; i++)
        buffer_free(&packed[i]);
}

CHECK_MAIN({"every_width_comes_back", every_width_comes_back},
           {"bounds_do_not_wrap", bounds_do_not_wrap},
           {"only_what_changes_is_unpacked", only_what_changes_is_unpacked})
