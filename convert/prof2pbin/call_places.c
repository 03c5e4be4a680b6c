/* Estimates which system calls were seen too often.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/call_places.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { PAGE = 4096 };
static const double trust = 1; /* the weight of the average of all places [sightings] */

struct call_place {
    double seen[FAULT_SIDES];
    double excess; /* of those on other CPUs */
};

void call_places_free(struct call_places *places)
{
    numbers_free(&places->offsets);
    free(places->list);
    *places = (struct call_places){0};
}

void call_places_count(struct call_places *places, enum fault_side side, uint64_t pc, double weight)
{
    uint32_t number = numbers_intern(&places->offsets, pc % PAGE);
    mem_extend(&places->list, &places->count, &places->capacity, (size_t)number + 1,
               sizeof *places->list);
    places->list[number].seen[side] += weight;
    places->seen[side] += weight;
}

/* Returns the number of sightings that PLACE would have on other CPUs if threads had been seen
 * where they were: the expected number, given the sightings on the CPU of the sampler. On average,
 * a PART of all were correct. */
static double right(const struct call_place *place, double part, double ratio)
{
    double average = part * place->seen[FAULT_OTHER_CPU] / ratio;
    double here = place->seen[FAULT_SAME_CPU];
    return ratio * average * (here + trust) / (average + trust);
}

void call_places_settle(struct call_places *places, double excess, double ratio)
{
    double other = places->seen[FAULT_OTHER_CPU], sum = 0;
    if (!(excess > 0) || !(ratio > 0) || other < 1)
        return;
    excess = fmin(excess, other);
    for (uint32_t i = 0; i < places->offsets.count; i++) {
        struct call_place *place = &places->list[i];
        double seen = place->seen[FAULT_OTHER_CPU];
        place->excess = fmax(seen - right(place, 1 - excess / other, ratio), 0);
        sum += place->excess;
    }
    /* the rest is taken from all remaining sightings, equally */
    double factor = sum > excess ? excess / sum : 1, rest = sum < excess ? excess - sum : 0;
    for (uint32_t i = 0; i < places->offsets.count; i++) {
        struct call_place *place = &places->list[i];
        double left = place->seen[FAULT_OTHER_CPU] - place->excess;
        place->excess = place->excess * factor + (rest > 0 ? left * rest / (other - sum) : 0);
    }
}

double call_places_part(const struct call_places *places, uint64_t pc)
{
    uint32_t number = numbers_find(&places->offsets, pc % PAGE);
    const struct call_place *place = number == INTERN_NONE ? NULL : &places->list[number];
    if (place == NULL || place->seen[FAULT_OTHER_CPU] <= 0)
        return 0;
    return fmin(place->excess / place->seen[FAULT_OTHER_CPU], 1);
}
