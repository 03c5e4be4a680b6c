/* Sorts items by an amount.
 * SPDX-License-Identifier: MIT */
#include "base/ranked.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->amount != b->amount)
        return a->amount > b->amount ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void ranked_sort(struct ranked *items, size_t count)
{
    if (count > 0)
        qsort(items, count, sizeof *items, compare);
}
