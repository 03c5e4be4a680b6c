/* User code that is seen too rarely from other CPUs.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/missing_places.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { FEW = 4 };

void missing_places_free(struct missing_places *places)
{
    numbers_free(&places->blocks);
    free(places->list);
    *places = (struct missing_places){0};
}

void missing_period_free(struct missing_period *period)
{
    free(period->list);
    *period = (struct missing_period){0};
}

void missing_period_count(struct missing_period *period, enum fault_side side, double weight)
{
    period->seen[side] += weight;
}

void missing_places_count(struct missing_places *places, struct missing_period *period,
                          enum fault_side side, uint64_t block, double weight)
{
    uint32_t number = numbers_intern(&places->blocks, block);
    mem_extend(&places->list, &places->count, &places->capacity, (size_t)number + 1,
               sizeof *places->list);
    *MEM_APPEND(period->list, period->count, period->capacity) =
        (struct missing_sighting){number, side, weight};
}

void missing_places_add(struct missing_places *places, struct missing_period *period)
{
    double *seen = period->seen, all = seen[FAULT_SAME_CPU] + seen[FAULT_OTHER_CPU];
    for (size_t i = 0; i < period->count; i++) {
        const struct missing_sighting *s = &period->list[i];
        places->list[s->place].seen[s->side] += s->weight * (1 - seen[s->side] / all);
    }
    period->count = 0;
    seen[FAULT_SAME_CPU] = seen[FAULT_OTHER_CPU] = 0;
}

static double missing(double same, double other)
{
    return same > 0 ? fmax(1 - other / same, 0) : 0;
}

void missing_places_settle(struct missing_places *places)
{
    double seen[FAULT_SIDES] = {0};
    for (size_t i = 0; i < places->count; i++)
        for (int k = 0; k < FAULT_SIDES; k++)
            seen[k] += places->list[i].seen[k];
    places->known = true;
    places->mean = missing(seen[FAULT_SAME_CPU], seen[FAULT_OTHER_CPU]);
}

double missing_places_part(const struct missing_places *places, uint64_t block)
{
    if (!places->known)
        return 0;
    uint32_t number = numbers_find(&places->blocks, block);
    const struct missing_place none = {{0}},
                               *place = number != INTERN_NONE ? &places->list[number] : &none;
    return missing(place->seen[FAULT_SAME_CPU] + FEW,
                   place->seen[FAULT_OTHER_CPU] + FEW * (1 - places->mean));
}
