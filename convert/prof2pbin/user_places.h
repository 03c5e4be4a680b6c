/* Where threads were seen in user code: in place of the kernel, if a sighting there is wrong.
 *
 * A thread stands for itself, wherever it was seen just before and after. If it was seen there neither before nor after, but
 * was seen in a system call, that is chance for a thread of few sightings. Then it stands for itself, too, wherever it was seen much
 * later, else where it was preempted: it computed there, although it was not seen running. If there is no such place, threads
 * like it stand for it, which
 *
 *   - belong to the program, in processes that began in the same way: often, forked ones do something else;
 *   - have its name, unless no other thread has that one;
 *   - were seen running at most FEW_SIGHTINGS times, too, and either both or none of them had more records than that:
 *     a short thread is not like one that waits for most of a run.
 *
 * Such a thread does not run the code of other threads: the user code that called the kernel represents it.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_USER_PLACES_H
#define CONVERT_PROF2PBIN_USER_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "convert/prof2pbin/own_places.h"
#include "formats/raw/raw_extension.h"

/* Places that stand for a sighting: those before it, and all. */
enum { SEEN_BEFORE = 3, SEEN_NEARBY = OWN_PLACES, FEW_SIGHTINGS = 16 };

struct nearby;
struct thread_places;

struct user_places {
    const struct raw_extension *ext; /* borrowed */
    struct thread_places *threads;
    size_t thread_count, thread_capacity;
    struct numbers texts, names, kinds; /* of threads: a name is one in a program */
    uint32_t *named;                    /* [name]: number of threads that had it */
    struct nearby *seen;                /* [kind] */
    size_t named_count, named_capacity, seen_count, seen_capacity;
    struct own_places own;
};

/* A thread, by its number; its image (RAW_NO_IMAGE) and its task (NO_TASK) at present. */
struct place_owner {
    uint32_t thread, image, task;
};

/* First pass: counts a record. Was the thread seen running? */
void user_places_count(struct user_places *places, const struct place_owner *owner, bool ran);
/* First pass: OWNER was at PC in user code, where it ran or was preempted. */
void user_places_note(struct user_places *places, const struct place_owner *owner,
                      enum own_kind kind, uint64_t pc, uint64_t time_ns);
/* Second pass, over the same records. OWNER ran at LOCATION in user code. */
void user_places_put(struct user_places *places, const struct place_owner *owner,
                     uint32_t location);
/* Where OWNER will be seen running after TIME_NS, else where it was preempted, if it has few sightings and none before. Fills OWN
 * with up to OWN_PLACES, in order of time. Returns their number. */
size_t user_places_own(struct user_places *places, const struct place_owner *owner,
                       uint64_t time_ns, struct own_place *own);
/* A location in place of the kernel: in turn one of those where OWNER was seen last in its image and of the COUNT
 * where it will be seen LATER, in order of time; else where threads like it were. UINT32_MAX: there is none. */
uint32_t user_places_get(struct user_places *places, const struct place_owner *owner,
                         const uint32_t *later, size_t count);
void user_places_free(struct user_places *places);

#endif
