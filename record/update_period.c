/* The time between two updates of a counter.
 * SPDX-License-Identifier: MIT */
#include "record/update_period.h"

#include <stdbool.h>
#include <stdlib.h>

enum { LATE_IN_TURN = 4 }; /* a single update may be late, or hidden by a late reading */

static int by_length(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

uint64_t update_period_usual(uint64_t *steps, unsigned count)
{
    uint64_t sum = 0, alike = 0;
    qsort(steps, count, sizeof *steps, by_length);
    uint64_t median = steps[count / 2];
    for (unsigned i = 0; i < count; i++)
        if (steps[i] >= median - median / 4 && steps[i] <= median + median / 4) {
            sum += steps[i];
            alike++;
        }
    return alike > 0 ? sum / alike : median;
}

void update_period_moved(struct update_period *shown, uint64_t *period, uint64_t after,
                         uint64_t upto)
{
    uint64_t most = upto - shown->after;
    uint64_t least = after > shown->upto ? after - shown->upto : 0;
    uint64_t between = (least + most) / 2;
    bool known = shown->upto > 0 && *period > 0;
    shown->after = after;
    shown->upto = upto;
    if (!known)
        return;
    if (most < *period - *period / 8) {
        *period = between;
        shown->longer = 0;
    } else if (least > *period + *period / 8) {
        shown->shortest =
            shown->longer == 0 || between < shown->shortest ? between : shown->shortest;
        if (++shown->longer == LATE_IN_TURN) {
            *period = shown->shortest;
            shown->longer = 0;
        }
    } else {
        shown->longer = 0;
    }
}
