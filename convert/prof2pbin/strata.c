/* Strata of sightings by age.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/strata.h"

#include <stdlib.h>

#include "convert/prof2pbin/division.h"

static int compare(const void *left, const void *right)
{
    const struct aged_sighting *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    if (a->age != b->age)
        return a->age < b->age ? -1 : 1;
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
    size_t wanted = end - begin > MIN_STRATUM ? (end - begin) / MIN_STRATUM : 1, count = 0,
           at = begin;
    for (size_t i = 1; i <= wanted; i++) {
        size_t next = begin + (end - begin) * i / wanted;
        while (next > at && next < end && list[next].age == list[next - 1].age)
            next++;
        if (next <= at)
            continue;
        uint64_t last = list[next - 1].age;
        uint64_t end_age = next < end ? last + (list[next].age - last) / 2 : UINT64_MAX;
        strata[count++] = (struct stratum){.sightings = next - at, .end = end_age};
        at = next;
    }
    return count;
}

void stratum_divide(struct weighed_thread *threads, const struct aged_sighting *list,
                    const struct stratum *stratum)
{
    struct division division = {0};
    uint64_t whole = 0;
    for (size_t i = 0; i < stratum->sightings; i++)
        whole += threads[list[i].thread].stretches[list[i].number].cpu_ns;
    for (size_t i = 0; i < stratum->sightings; i++) {
        struct stretch *own = &threads[list[i].thread].stretches[list[i].number];
        own->cpu_ns = whole > 0
                          ? division_next(&division, stratum->known_ns, own->cpu_ns, whole)
                          : division_next(&division, stratum->known_ns, 1, stratum->sightings);
    }
}
