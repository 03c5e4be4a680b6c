/* Threads of the operating system. A profile defines a thread again when its name or program
 * changes; this finds the definitions that are the same thread.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_OS_THREADS_H
#define ANALYZE_ATTRIBUTE_OS_THREADS_H

#include "formats/pbin/pbin.h"

/* All zero: empty. */
struct os_threads {
    struct numbers known; /* pid << 32 | tid */
    uint32_t *latest;     /* by number in KNOWN: the latest definition */
    uint32_t *first;      /* [threads]: first definition */
    size_t count, latest_capacity, first_capacity;
    bool shared; /* some thread has more than one definition */
};

void os_threads_free(struct os_threads *threads);

/* Adds the threads that ALL defines but that are not yet known. */
void os_threads_add(struct os_threads *threads, const struct pbin_definitions *all);

/* The first definition of THREAD. A tid that is defined again with the same name and program is a
 * different thread. */
static inline uint64_t os_thread(const struct os_threads *threads, uint64_t thread)
{
    return threads->shared ? threads->first[thread] : thread;
}

#endif
