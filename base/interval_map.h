/* Finds the address range that contains an address, among many overlapping ones: built once, then
 * searched by bisection.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_INTERVAL_MAP_H
#define BASE_INTERVAL_MAP_H

#include <stddef.h>
#include <stdint.h>

#define INTERVAL_NONE UINT32_MAX

/* Addresses BEGIN..LAST, both inclusive, so that the end of the address space needs no special
 * case. */
struct interval {
    uint64_t begin, last;
    uint32_t value; /* where ranges overlap, the largest value counts */
};

/* Disjoint pieces in ascending order. All zero: an empty map. */
struct interval_map {
    struct interval *pieces;
    size_t count;
};

/* Builds MAP from INTERVALS, which it sorts in place (those with begin > last are ignored). O(n log
 * n) for all inputs. Nothing is borrowed; interval_map_free releases the map. */
void interval_map_build(struct interval_map *map, struct interval *intervals, size_t count);
void interval_map_free(struct interval_map *map);

/* The first piece that ends at or after ADDRESS, borrowed until interval_map_free; or NULL. */
const struct interval *interval_map_next(const struct interval_map *map, uint64_t address);

/* The largest value of the ranges that contain ADDRESS, or INTERVAL_NONE. */
uint32_t interval_map_find(const struct interval_map *map, uint64_t address);

#endif
