/* Divides the sightings of a pool into strata by age. The age of a sighting is the progress of its
 * thread since it began, in any unit.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_STRATA_H
#define CONVERT_PROF2PBIN_STRATA_H

#include <stddef.h>
#include <stdint.h>

#include "convert/prof2pbin/weighed_thread.h"

/* MIN_STRATUM: the minimum number of sightings in a stratum. STRATA_ROUNDS: how often times are
 * divided alternately among strata and among threads or stretches, until both have about their CPU
 * times (iterative proportional fitting). */
enum { MIN_STRATUM = 8, STRATA_ROUNDS = 8 };

struct aged_sighting {
    size_t pool, thread;
    uint64_t number; /* of the sighting in its thread */
    uint64_t age;
};

struct stratum {
    size_t sightings;
    uint64_t end;      /* age; of the last one UINT64_MAX */
    uint64_t known_ns; /* CPU time of the pool at these ages */
    double seen;       /* how often such ages are seen */
    double sum;        /* CPU time of all threads at these ages that is represented by sightings */
};

/* Sorts COUNT sightings by pool and age. */
void strata_sort(struct aged_sighting *list, size_t count);

/* Divides the sightings of LIST from BEGIN to END, which are those of a pool, into STRATA without
 * CPU time. Sightings of the same age are in the same stratum. Returns the number of strata, at
 * most (END - BEGIN) / MIN_STRATUM, or 1. */
size_t strata_make(const struct aged_sighting *list, size_t begin, size_t end,
                   struct stratum *strata);

/* Divides the CPU time of STRATUM among its sightings, which start at LIST, in proportion to the
 * CPU time that they have, or equally if they have none. Each sighting of THREADS is a stretch. */
void stratum_divide(struct weighed_thread *threads, const struct aged_sighting *list,
                    const struct stratum *stratum);

#endif
