/* Estimates how much user code is missed when the sampler and the thread are on different CPUs,
 * where page faults or system calls are frequent.
 *
 * A thread on another CPU stops some microseconds after it was interrupted, often only at the end
 * of its next page fault or system call. The code that it ran before may be in a function other than
 * that of the page fault or call. On the CPU of the sampler, threads stop where they are.
 *
 * How often the sampler is on the CPU of a thread changes with time, and so does what the thread runs. The two sides
 * are therefore compared within short periods (Mantel and Haenszel 1959, equation 10). If a period
 * has S sightings on the CPU of the sampler and O on others, s and o of them at a place, the
 * place is seen on other CPUs at this part of its rate:
 *
 *     (sum of o S / (S + O) + FEW (1 - m)) / (sum of s O / (S + O) + FEW)
 *
 * The rest, down to 0, is missing; m is the same for all places together, without FEW. A place is a
 * block of code, as in code_blocks.h.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_MISSING_PLACES_H
#define CONVERT_PROF2PBIN_MISSING_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "formats/raw/raw_fault_places.h"

struct missing_sighting {
    uint32_t place; /* its number */
    enum fault_side side;
    double weight;
};

/* The sightings of a process in a short period. All zero: none. */
struct missing_period {
    struct missing_sighting *list; /* those in user code */
    size_t count, capacity;
    double seen[FAULT_SIDES]; /* all */
};

struct missing_place {
    double seen[FAULT_SIDES]; /* the sums above */
};

/* All zero: no places; nothing is missing. */
struct missing_places {
    struct numbers blocks;
    struct missing_place *list;
    size_t count, capacity;
    bool known;
    double mean; /* m */
};

void missing_places_free(struct missing_places *places);
void missing_period_free(struct missing_period *period);
/* Adds a sighting of WEIGHT, 1 on average, from SIDE to PERIOD. */
void missing_period_count(struct missing_period *period, enum fault_side side, double weight);
/* The same sighting was in user code in BLOCK, or in a page fault there. */
void missing_places_count(struct missing_places *places, struct missing_period *period,
                          enum fault_side side, uint64_t block, double weight);
/* Adds the sightings of PERIOD, which then begins anew. */
void missing_places_add(struct missing_places *places, struct missing_period *period);
/* Called after all periods have been added. */
void missing_places_settle(struct missing_places *places);
/* Returns the missing part, 0 to 1, of the sightings in BLOCK; 0 before missing_places_settle. */
double missing_places_part(const struct missing_places *places, uint64_t block);

#endif
