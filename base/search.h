/* Binary search in arrays of structures that are sorted by a member of type uint64_t.
 *
 *   i = SEARCH_FROM(items, count, address, key);      the first item with address >= key; COUNT if there is none
 *   i = SEARCH_AFTER(items, count, address, key);     the first item with address > key; COUNT if there is none
 * SPDX-License-Identifier: MIT */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The index of the first of COUNT items of SIZE bytes whose number at OFFSET is at least KEY or, with AFTER, above it.
 * SIZE, OFFSET and AFTER should be constants. */
static inline size_t search_sorted(const void *items, size_t count, size_t size, size_t offset,
                                   uint64_t key, bool after)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t number;
        memcpy(&number, (const char *)items + middle * size + offset, sizeof number);
        if (number < key || (after && number == key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define SEARCH_OFFSET(items, member) offsetof(__typeof__(*(items)), member)
#define SEARCH_FROM(items, count, member, key)                                                     \
    search_sorted(items, count, sizeof *(items), SEARCH_OFFSET(items, member), key, false)
#define SEARCH_AFTER(items, count, member, key)                                                    \
    search_sorted(items, count, sizeof *(items), SEARCH_OFFSET(items, member), key, true)

#endif
