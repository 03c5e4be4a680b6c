/* User code that is seen too rarely from other CPUs than that of its thread, where page faults are frequent.
 *
 * A thread on another CPU stops some microseconds after it was interrupted, often only at the end of its next page fault. What it ran
 * until then may be in a function other than the one that had the page fault. On the CPU of the sampler, threads stop where they are.
 * With s sightings of a place there and o from other CPUs, which have r times as many of all, the place is missing from o: a part of
 *
 *     1 - (o + FEW (1 - m)) / (r s + FEW),    m: the same for all places together, without FEW
 *
 * of its sightings. A place is a block of code of a process.
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
    double ratio, usual; /* r, m */
};

void missing_places_free(struct missing_places *places);
/* Counts a sighting from SIDE in user code at PC of process IMAGE. */
void missing_places_count(struct missing_places *places, enum fault_side side, uint32_t image,
                          uint64_t pc);
/* After all sightings have been counted: there are SAME in all on the CPU of the sampler, and OTHER from other CPUs. */
void missing_places_settle(struct missing_places *places, double same, double other);
/* The part of the place that is missing. */
double missing_places_part(const struct missing_places *places, uint32_t image, uint64_t pc);

#endif
