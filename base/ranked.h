/* Sorts items by an amount.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_RANKED_H
#define BASE_RANKED_H

#include <stddef.h>

/* The item with number INDEX. */
struct ranked {
    double amount; /* not NaN */
    size_t index;
};

/* Sorts by descending amount, and equal amounts by ascending index. */
void ranked_sort(struct ranked *items, size_t count);

#endif
