/* Estimates which sightings in user code were really in the kernel, if the ticks of the kernel show
 * more time there than sightings do: most of these were page faults.
 *
 * Page faults happen at few instructions, and those of threads on CPUs other than the sampler's are
 * seen. Each place therefore has a likelihood: the fraction of page faults among its sightings from
 * other CPUs plus one sighting of average likelihood. A place is the offset of a program counter in
 * its page, which is the same in all processes of a program, wherever their libraries are mapped.
 *
 * If explaining the kernel time would require more than four times as many page faults as were seen
 * from other CPUs, the rest is assumed to be something else, such as the end of a forked process,
 * which is not sampled; it is the same part of all sightings. Of 2000 children with two functions
 * of 0.7 and 0.3 ms, the second one got 2 to 40 % too little when a quarter of the CPU time was
 * explained by page faults.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_FAULT_PLACES_H
#define FORMATS_RAW_RAW_FAULT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"

struct fault_place;

/* The CPU of the sampler when it saw a thread: page faults are seen only from another CPU. */
enum fault_side { FAULT_OTHER_CPU, FAULT_SAME_CPU, FAULT_SIDES };

/* Where a thread was seen. Recordings of earlier samplers do not distinguish page faults among
 * sightings in the kernel. */
enum fault_sight { FAULT_USER, FAULT_KERNEL, FAULT_SEEN, FAULT_SIGHTS };

/* The places of a program. All zero: none. */
struct fault_places {
    struct numbers offsets;
    struct fault_place *list;
    size_t count, capacity;
    double other[FAULT_SIGHTS]; /* sightings from other CPUs */
    double factor[FAULT_SIDES]; /* by which the odds of a likelihood are multiplied */
    double others[FAULT_SIDES]; /* the fraction of other sightings that were also in the kernel */
};

/* Returns whether COUNT page faults can explain that sightings show less kernel time than ticks do:
 * LACK, as a fraction of the CPU time USED [ns]. Ticks also show kernel time of other origin:
 * timers send signals during ticks, and the cost of stops is only an estimate. */
bool fault_places_explain(uint64_t count, double lack, double used);

void fault_places_free(struct fault_places *places);

/* Counts a sighting of WEIGHT, 1 on average, at PC, or in the kernel, called or caused there. */
void fault_places_count(struct fault_places *places, enum fault_side side, uint64_t pc,
                        enum fault_sight sight, double weight);
/* Call it after all sightings have been counted: LACK of the sightings of SIDE in user code were in
 * the kernel. */
void fault_places_settle(struct fault_places *places, enum fault_side side, double lack);
/* Call it after fault_places_settle: the fraction of the sightings of SIDE in user code at PC that
 * were in the kernel. */
double fault_places_part(const struct fault_places *places, enum fault_side side, uint64_t pc);

#endif
