/* Columns of every width come back, from vectors and without.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "formats/pbin_column.h"

enum { MOST = 100 };

static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* COUNT values of at most WIDTH bits above BASE, there and back in both ways. */
static void round_trip(struct check *check, unsigned width, size_t count, uint64_t base,
                       uint64_t *state)
{
    uint64_t values[MOST], back[MOST], portable[MOST];
    struct column_bounds bounds, range;
    uint64_t mask = width == 0 ? 0 : ~UINT64_C(0) >> (64 - width);
    struct buffer buffer = {0};
    for (size_t i = 0; i < count; i++)
        values[i] = base + (random_bits(state) & mask);
    column_put(&buffer, values, count);
    uint8_t *data = malloc(buffer.size + 8); /* exactly what may be read */
    memcpy(data, buffer.data, buffer.size);
    memset(data + buffer.size, 0xff, 8);
    struct cursor in = {.data = data, .size = buffer.size};
    uint64_t packed_base = 0;
    for (int i = 0; i < 8; i++)
        packed_base |= (uint64_t)data[1 + i] << 8 * i;
    int got = column_get(&in, back, count, &bounds);
    column_unpack(data + 9, data[0], packed_base, portable, count);
    range = column_range(values, count);
    bool same = got == 0 && memcmp(values, back, count * 8) == 0 &&
                memcmp(values, portable, count * 8) == 0;
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
        for (size_t count = 0; count <= MOST; count++) {
            round_trip(check, width, count, width == 64 ? 0 : random_bits(&state) >> width, &state);
            if (check->why[0] != '\0')
                return;
        }
}

static void bounds_do_not_wrap(struct check *check)
{
    uint8_t data[9 + 16] = {7, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct cursor in = {.data = data, .size = 9 + 7};
    uint64_t values[8];
    struct column_bounds bounds;
    CHECK_EQ(column_get(&in, values, 8, &bounds), 0);
    CHECK(bounds.least == 0 && bounds.most == UINT64_MAX);
    CHECK(values[7] == UINT64_MAX - 15);
}

CHECK_MAIN({"every_width_comes_back", every_width_comes_back},
           {"bounds_do_not_wrap", bounds_do_not_wrap})
