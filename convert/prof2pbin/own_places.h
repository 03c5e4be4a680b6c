/* Records where threads were first seen in user code, in each of their images, during the whole
 * run, before samples are converted.
 *
 * A thread with few sightings may be seen in user code only seconds after another sighting, or only
 * while it waits for a CPU after it was preempted there. Both show which code it runs.
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
    uint32_t next; /* index in PLACES, INTERN_NONE for none */
};

/* All zero: none. */
struct own_places {
    struct numbers owners; /* a thread in an image, and a kind */
    struct own_list *lists;
    struct own_place *places;
    size_t list_count, list_capacity, count, capacity;
};

/* First pass, in order of time: THREAD was seen in IMAGE at PC. */
void own_places_add(struct own_places *own, uint32_t thread, uint32_t image, enum own_kind kind,
                    uint64_t pc, uint64_t time_ns);
/* Second pass: fills PLACES with up to OWN_PLACES places, in order of time. Returns their
 * number. */
size_t own_places_get(const struct own_places *own, uint32_t thread, uint32_t image,
                      enum own_kind kind, struct own_place *places);
void own_places_free(struct own_places *own);

#endif
