/* What the ticks of the kernel reveal about sightings in the kernel.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_ticks.h"

#include <stdlib.h>

#include "base/memory.h"

static const double certain = 2;                                              /* standard errors */
static const double default_length = 4e6, min_length = 1e5, max_length = 1e8; /* [ns] */

double raw_ticks_length(const struct raw_facts *facts)
{
    double ns = (double)facts->tick_ns;
    return ns >= min_length && ns <= max_length ? ns : default_length;
}

static int compare_ticks(const void *left, const void *right)
{
    const struct raw_ticks *const *a = left, *const *b = right;
    if ((*a)->pid != (*b)->pid)
        return (*a)->pid < (*b)->pid ? -1 : 1;
    if ((*a)->time != (*b)->time)
        return (*a)->time < (*b)->time ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

const struct raw_ticks **raw_ticks_in_order(const struct raw_extension *ext)
{
    const struct raw_ticks **order = mem_alloc((ext->tick_count + 1) * sizeof(struct raw_ticks *));
    for (size_t i = 0; i < ext->tick_count; i++)
        order[i] = &ext->ticks[i];
    qsort(order, ext->tick_count, sizeof *order, compare_ticks);
    return order;
}

double raw_ticks_system(const struct raw_ticks *ticks)
{
    return ticks->system > ticks->stops ? (double)(ticks->system - ticks->stops) : 0;
}

double raw_share_kernel(struct raw_share share)
{
    return (share.kernel + 0.5) / (share.all + 1);
}

double raw_ticks_surplus(struct raw_share seen, struct raw_share ticks)
{
    double found = raw_share_kernel(seen), expected = raw_share_kernel(ticks);
    double more = found - expected, larger = more > 0 ? found : expected;
    if (ticks.all < 1 || seen.all < 1 ||
        more * more <= certain * certain * larger * (1 - larger) * (1 / seen.all + 1 / ticks.all))
        return 0;
    return seen.kernel - expected * seen.all;
}
