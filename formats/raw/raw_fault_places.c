/* Estimates which sightings in user code were page faults.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_fault_places.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { PAGE = 4096 };
enum { HALVINGS = 64 };
/* Limits of the factor. The upper one: if page faults happen as often as they are seen from other
 * CPUs, chance does not explain that more than four times as many are missing. */
static const double max_factor = 4, min_factor = 0x1p-40;
/* durations of page faults [ns]: of a huge page, and of others */
static const double max_fault = 3e5, typical_fault = 1e4;
static const double notable = 0.1; /* least part of the CPU time explained by huge pages */

struct fault_place {
    double user[FAULT_SIDES];    /* sightings */
    double kernel[FAULT_SIGHTS]; /* sightings from other CPUs */
};

bool fault_places_explain(uint64_t count, double lack, double used)
{
    return lack * used <= (lack > notable ? max_fault : typical_fault) * (double)count;
}

void fault_places_free(struct fault_places *places)
{
    numbers_free(&places->offsets);
    free(places->list);
    *places = (struct fault_places){0};
}

void fault_places_count(struct fault_places *places, enum fault_side side, uint64_t pc,
                        enum fault_sight sight, double weight)
{
    uint32_t number = numbers_intern(&places->offsets, pc % PAGE);
    mem_extend(&places->list, &places->count, &places->capacity, (size_t)number + 1,
               sizeof *places->list);
    if (sight == FAULT_USER)
        places->list[number].user[side] += weight;
    else if (side == FAULT_OTHER_CPU)
        places->list[number].kernel[sight] += weight;
    if (side == FAULT_OTHER_CPU)
        places->other[sight] += weight;
}

/* The sightings that count as page faults: if the recordings do not distinguish page faults, all in
 * the kernel. */
static enum fault_sight known_as(const struct fault_places *places)
{
    return places->other[FAULT_SEEN] > 0 ? FAULT_SEEN : FAULT_KERNEL;
}

/* FACTOR is the same at all places: the number of unseen page faults of the side per page fault
 * seen from another CPU. */
static double part_of(const struct fault_places *places, const struct fault_place *place,
                      double factor)
{
    enum fault_sight as = known_as(places);
    double average =
        (places->other[as] + 0.5) / (places->other[as] + places->other[FAULT_USER] + 1);
    double seen = place->user[FAULT_OTHER_CPU] + place->kernel[as];
    double likely = (place->kernel[as] + average) / (seen + 1);
    return factor * likely / (1 - likely + factor * likely);
}

static double sum_of(const struct fault_places *places, enum fault_side side, double factor)
{
    double sum = 0;
    for (uint32_t i = 0; i < places->offsets.count; i++)
        sum += places->list[i].user[side] * part_of(places, &places->list[i], factor);
    return sum;
}

void fault_places_settle(struct fault_places *places, enum fault_side side, double lack)
{
    double low = min_factor, high = max_factor, user = 0, *factor = &places->factor[side];
    for (int i = 0; i < HALVINGS && lack > 0; i++) {
        *factor = sqrt(low * high);
        if (sum_of(places, side, *factor) < lack)
            low = *factor;
        else
            high = *factor;
    }
    for (uint32_t i = 0; i < places->offsets.count; i++)
        user += places->list[i].user[side];
    double faults = lack > 0 ? sum_of(places, side, *factor) : 0;
    if (lack > faults && user > faults)
        places->others[side] = fmin((lack - faults) / (user - faults), 1);
}

double fault_places_part(const struct fault_places *places, enum fault_side side, uint64_t pc)
{
    uint32_t number = numbers_find(&places->offsets, pc % PAGE);
    if (number == INTERN_NONE)
        return 0;
    double faults = part_of(places, &places->list[number], places->factor[side]);
    return faults + (1 - faults) * places->others[side];
}
