/* Which threads of a profile are the same thread of the operating system: a profile defines a thread again when its name
 * or program changes.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_OS_THREADS_H
#define ANALYZE_ATTRIBUTE_OS_THREADS_H

#include "formats/pbin/pbin.h"

/* Zeroed: none. */
struct os_threads {
    struct numbers known; /* pid << 32 | tid */
    uint32_t *latest;     /* by number in KNOWN: its last definition */
    uint32_t *first;      /* by thread: its first definition */
    size_t count, latest_capacity, first_capacity;
    bool shared; /* some thread is not its own first definition */
};

void os_threads_free(struct os_threads *threads);

/* Adds the threads that ALL defines beyond those that are known. */
void os_threads_add(struct os_threads *threads, const struct pbin_definitions *all);

/* The first definition of THREAD. A tid that is defined again with the same name and program is another thread. */
static inline uint64_t os_thread(const struct os_threads *threads, uint64_t thread)
{
    return threads->shared ? threads->first[thread] : thread;
}

#endif
