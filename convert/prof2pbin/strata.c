/* Strata of sightings by age.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/strata.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const struct aged_sighting *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    if (a->age_ns != b->age_ns)
        return a->age_ns < b->age_ns ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void strata_sort(struct aged_sighting *list, size_t count)
{
    if (count > 0)
        qsort(list, count, sizeof *list, compare);
}

size_t strata_make(const struct aged_sighting *list, size_t begin, size_t end,
                   struct stratum *strata)
{
    size_t wanted = end - begin > STRATUM ? (end - begin) / STRATUM : 1, count = 0, at = begin;
    for (size_t i = 1; i <= wanted; i++) {
        size_t next = begin + (end - begin) * i / wanted;
        while (next > at && next < end && list[next].age_ns == list[next - 1].age_ns)
            next++;
        if (next <= at)
            continue;
        uint64_t last_ns = list[next - 1].age_ns;
        uint64_t end_ns = next < end ? last_ns + (list[next].age_ns - last_ns) / 2 : UINT64_MAX;
        strata[count++] = (struct stratum){.sightings = next - at, .end_ns = end_ns};
        at = next;
    }
    return count;
}

void strata_add(struct stratum *strata, size_t count, uint64_t begin_ns, uint64_t end_ns)
{
    for (size_t i = 0; i < count && begin_ns < end_ns; i++) {
        if (strata[i].end_ns <= begin_ns)
            continue;
        uint64_t until_ns = strata[i].end_ns < end_ns ? strata[i].end_ns : end_ns;
        strata[i].known_ns += until_ns - begin_ns;
        begin_ns = until_ns;
    }
}
