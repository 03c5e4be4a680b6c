/* Estimates how much user code is missed when the sampler and the thread are on different CPUs,
 * where page faults or system calls are frequent.
 *
 * A thread on another CPU stops some microseconds after it was interrupted, often only at the end
 * of its next page fault or system call. The code that it ran before may be in a function other than
 * that of the page fault or call. On the CPU of the sampler, threads stop where they are. With s sightings of a place
 * there and o on other CPUs, where all sightings are r times as many, a part of
 *
 *     1 - (o + FEW (1 - m)) / (r s + FEW),    m: the same part for all places together, without FEW
 *
 * of the sightings of the place is missing from o. A place is a block of code of a process.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_MISSING_PLACES_H
#define CONVERT_PROF2PBIN_MISSING_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "formats/raw/raw_fault_places.h"

struct missing_place {
    double seen[FAULT_SIDES];
};

/* All zero: no places; nothing is missing. */
struct missing_places {
    struct numbers blocks;
    struct missing_place *list;
    size_t count, capacity;
    double ratio, mean; /* r, m */
};

void missing_places_free(struct missing_places *places);
/* Counts a sighting of WEIGHT, 1 on average, from SIDE in user code at PC of process IMAGE, or in a
 * page fault there. */
void missing_places_count(struct missing_places *places, enum fault_side side, uint32_t image,
                          uint64_t pc, double weight);
/* Called after all sightings have been counted: there are SAME in all on the CPU of the sampler,
 * and OTHER on other CPUs. */
void missing_places_settle(struct missing_places *places, double same, double other);
/* Returns the missing part, 0 to 1, of the sightings of the place of PC in IMAGE. */
double missing_places_part(const struct missing_places *places, uint32_t image, uint64_t pc);

#endif
