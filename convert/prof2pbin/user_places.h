/* Records where threads were seen in user code, to replace wrong sightings in the kernel.
 *
 * A wrong sighting is replaced by a place in user code where the same thread was seen just before
 * or after. A thread with few sightings may not have been seen in user code then, by chance. In
 * this case, places where it was seen much later are used; else places where it was preempted: it
 * computed there, although it was not seen running. If none is known, places of similar threads
 * are used. These threads
 *
 *   - belong to the same program, in processes that began in the same way: forked processes often
 *     do something else;
 *   - have the same name, unless no other thread has it;
 *   - were also seen running at most MAX_RARE_SIGHTINGS times, and have more records than that if
 *     and only if the thread has: a short thread is not similar to a thread that waits for most of
 *     a run.
 *
 * A thread with more sightings is not assumed to run the code of other threads: the user code that
 * called the kernel replaces the sighting.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_USER_PLACES_H
#define CONVERT_PROF2PBIN_USER_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "convert/prof2pbin/own_places.h"
#include "formats/raw/raw_extension.h"

/* Number of places that can replace a sighting: those before it, and all. */
enum { SEEN_BEFORE = 3, SEEN_NEARBY = OWN_PLACES, MAX_RARE_SIGHTINGS = 16 };

struct nearby;
struct thread_places;

struct user_places {
    const struct raw_extension *ext; /* borrowed */
    struct thread_places *threads;
    size_t thread_count, thread_capacity;
    struct numbers texts, names, kinds; /* of threads: a name counts separately in each program */
    uint32_t *named;                    /* [name]: number of threads that had it */
    struct nearby *seen;                /* [kind] */
    size_t named_count, named_capacity, seen_count, seen_capacity;
    struct own_places own;
};

/* A thread, by its number; its image (RAW_NO_IMAGE) and its task (NO_TASK) at present. */
struct place_owner {
    uint32_t thread, image, task;
};

/* First pass: counts a record. RAN: the thread was seen running. */
void user_places_count(struct user_places *places, const struct place_owner *owner, bool ran);
/* After the first pass: returns whether the thread of OWNER was seen running often, and waiting
 * rarely. */
bool user_places_is_busy(struct user_places *places, const struct place_owner *owner);
/* First pass: OWNER was at PC in user code, where it ran or was preempted. */
void user_places_note(struct user_places *places, const struct place_owner *owner,
                      enum own_kind kind, uint64_t pc, uint64_t time_ns);
/* Second pass, over the same records: OWNER ran at LOCATION in user code. */
void user_places_put(struct user_places *places, const struct place_owner *owner,
                     uint32_t location);
/* For an OWNER with few sightings, none of them in user code so far: fills OWN with up to
 * OWN_PLACES places where it will be seen running after TIME_NS, or else where it was preempted, in
 * order of time. Returns their number, otherwise 0. */
size_t user_places_own(struct user_places *places, const struct place_owner *owner,
                       uint64_t time_ns, struct own_place *own);
/* Returns a location that replaces a sighting in the kernel: in rotation, one of those where OWNER
 * was last seen in its image and of the COUNT where it will be seen LATER, in order of time; else
 * one where similar threads were seen; UINT32_MAX if there is none. */
uint32_t user_places_get(struct user_places *places, const struct place_owner *owner,
                         const uint32_t *later, size_t count);
void user_places_free(struct user_places *places);

#endif
