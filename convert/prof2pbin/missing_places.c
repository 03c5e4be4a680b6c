/* User code that is seen too rarely from other CPUs.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/missing_places.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { BLOCK = 64 }; /* [bytes] */
enum { FEW = 4 };

static uint64_t block_of(uint32_t image, uint64_t pc)
{
    return pc / BLOCK ^ (uint64_t)image << 58 ^ (uint64_t)image >> 6;
}

void missing_places_free(struct missing_places *places)
{
    numbers_free(&places->blocks);
    free(places->list);
    *places = (struct missing_places){0};
}

void missing_places_count(struct missing_places *places, enum fault_side side, uint32_t image,
                          uint64_t pc, double weight)
{
    uint32_t number = numbers_intern(&places->blocks, block_of(image, pc));
    mem_extend(&places->list, &places->count, &places->capacity, (size_t)number + 1,
               sizeof *places->list);
    places->list[number].seen[side] += weight;
}

static double missing(double same, double other)
{
    return same > 0 ? fmax(1 - other / same, 0) : 0;
}

void missing_places_settle(struct missing_places *places, double same, double other)
{
    double seen[FAULT_SIDES] = {0};
    for (size_t i = 0; i < places->count; i++)
        for (int k = 0; k < FAULT_SIDES; k++)
            seen[k] += places->list[i].seen[k];
    places->ratio = same > 0 ? other / same : 0;
    places->mean = missing(places->ratio * seen[FAULT_SAME_CPU], seen[FAULT_OTHER_CPU]);
}

double missing_places_part(const struct missing_places *places, uint32_t image, uint64_t pc)
{
    uint32_t number = numbers_find(&places->blocks, block_of(image, pc));
    const struct missing_place *place = number != INTERN_NONE ? &places->list[number] : NULL;
    double same = place != NULL ? places->ratio * place->seen[FAULT_SAME_CPU] : 0;
    double other = place != NULL ? place->seen[FAULT_OTHER_CPU] : 0;
    return missing(same + FEW, other + FEW * (1 - places->mean));
}
