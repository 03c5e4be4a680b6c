/* Where threads were seen first in user code, in each of their images: the whole run is known before samples are converted.
 *
 * A thread of few sightings may have been seen in user code only seconds later, or only while it waited for a CPU, after it had
 * been preempted there. Both show what it runs.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_OWN_PLACES_H
#define CONVERT_PROF2PBIN_OWN_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

enum { OWN_PLACES = 6 }; /* of each kind */
enum own_kind { OWN_RAN, OWN_PREEMPTED, OWN_KINDS };

struct own_place {
    uint64_t pc, time_ns;
    uint32_t next; /* INTERN_NONE */
};

/* All zero: none. */
struct own_places {
    struct numbers owners; /* threads in images, and a kind */
    struct own_list *lists;
    struct own_place *places;
    size_t list_count, list_capacity, count, capacity;
};

/* First pass, in order of time: THREAD was seen in IMAGE at PC. */
void own_places_add(struct own_places *own, uint32_t thread, uint32_t image, enum own_kind kind,
                    uint64_t pc, uint64_t time_ns);
/* Second pass: fills PLACES with up to OWN_PLACES, in order of time; returns their number. */
size_t own_places_get(const struct own_places *own, uint32_t thread, uint32_t image,
                      enum own_kind kind, struct own_place *places);
void own_places_free(struct own_places *own);

#endif
