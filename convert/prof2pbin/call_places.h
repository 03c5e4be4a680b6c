/* Estimates which system calls were seen too often.
 *
 * A thread on a CPU other than the sampler's continues for some microseconds, and stops at the end
 * of a system call that it begins in that time. Calls that follow user code are therefore seen too
 * often, but calls that follow each other are not. A thread on the CPU of the sampler is seen where
 * it was. The excess of each place that calls the kernel is the number by which it was seen more
 * often on other CPUs than on that CPU. The average of all places counts as one more sighting,
 * which matters for places with few sightings.
 *
 * A place is the offset of its program counter in its page, as in raw_fault_places.h.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_CALL_PLACES_H
#define CONVERT_PROF2PBIN_CALL_PLACES_H

#include "base/intern.h"
#include "formats/raw/raw_fault_places.h"

struct call_place;

/* The places of a program. All zero: none. */
struct call_places {
    struct numbers offsets;
    struct call_place *list;
    size_t count, capacity;
    double seen[FAULT_SIDES];
};

void call_places_free(struct call_places *places);

/* Counts a sighting of WEIGHT, 1 on average, in a system call from PC. */
void call_places_count(struct call_places *places, enum fault_side side, uint64_t pc,
                       double weight);
/* Called after all sightings have been counted: EXCESS of those on other CPUs were in user code;
 * there were RATIO times as many sightings, of any kind, on other CPUs as on the CPU of the
 * sampler. */
void call_places_settle(struct call_places *places, double excess, double ratio);
/* Called after call_places_settle. Returns the part, 0 to 1, of the sightings at PC on other CPUs
 * that were in user code. */
double call_places_part(const struct call_places *places, uint64_t pc);

#endif
