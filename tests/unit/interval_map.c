/* Overlapping address ranges: every address is compared with a search through all ranges.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/interval_map.h"

enum { ADDRESSES = 300, MAX_RANGES = 70, TRIES = 300 };

static uint32_t next(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % limit;
}

/* The largest value of those of COUNT ranges that contain ADDRESS. */
static uint32_t largest(const struct interval *ranges, size_t count, uint64_t address)
{
    uint32_t value = INTERVAL_NONE;
    for (size_t i = 0; i < count; i++)
        if (ranges[i].begin <= address && address <= ranges[i].last &&
            (value == INTERVAL_NONE || ranges[i].value > value))
            value = ranges[i].value;
    return value;
}

static void random_ranges(struct check *check)
{
    uint64_t state = 1;
    for (int t = 0; t < TRIES; t++) {
        struct interval ranges[MAX_RANGES], copy[MAX_RANGES];
        struct interval_map map;
        const size_t count = next(&state, MAX_RANGES);
        const uint32_t longest = 1 + next(&state, t % 2 == 0 ? 5 : ADDRESSES);
        for (size_t i = 0; i < count; i++) {
            const uint64_t begin = next(&state, ADDRESSES);
            ranges[i] = (struct interval){begin, begin + next(&state, longest) - (i % 9 == 0),
                                          next(&state, 100)};
        }
        memcpy(copy, ranges, sizeof copy);
        interval_map_build(&map, copy, count);
        for (uint64_t address = 0; address < 2 * ADDRESSES; address++)
            CHECK_EQ(interval_map_find(&map, address), largest(ranges, count, address));
        for (size_t i = 1; i < map.count; i++)
            CHECK(map.pieces[i - 1].last < map.pieces[i].begin);
        interval_map_free(&map);
    }
}

/* Ranges up to the end of the address space, in descending order. */
static void limits(struct check *check)
{
    struct interval ranges[] = {
        {UINT64_MAX, UINT64_MAX, 3}, {UINT64_MAX - 9, UINT64_MAX, 2}, {0, UINT64_MAX - 5, 1}};
    struct interval_map map;
    interval_map_build(&map, ranges, 3);
    CHECK_EQ(interval_map_find(&map, UINT64_MAX), 3);
    CHECK_EQ(interval_map_find(&map, UINT64_MAX - 1), 2);
    CHECK_EQ(interval_map_find(&map, UINT64_MAX - 9), 2);
    CHECK_EQ(interval_map_find(&map, UINT64_MAX - 10), 1);
    CHECK_EQ(interval_map_find(&map, 0), 1);
    interval_map_free(&map);
    interval_map_build(&map, ranges, 0);
    CHECK_EQ(interval_map_find(&map, 0), INTERVAL_NONE);
    interval_map_free(&map);
}

CHECK_MAIN({"random_ranges", random_ranges}, {"limits", limits})
