/* Internal to fit*.c: recordings without CPU times.
 *
 * Such a recording, for example of a board's tracer, only shows which threads (cores) were seen running, and where. A
 * thread that is not in a sample waits. Between a sample with the thread and one without, waiting is treated like another
 * row: the time is interpolated linearly from one to the other.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_SEEN_H
#define ANALYZE_ATTRIBUTE_FIT_SEEN_H

#include "analyze/attribute/fit_view.h"

/* Work space. */
struct fit_seen {
    uint64_t threads[STRETCH];
    double *cpu_ns; /* by thread sample */
    uint32_t *row, *thread;
    bool *waits;
    size_t cpu_capacity, row_capacity, thread_capacity, wait_capacity;
};

void fit_seen_free(struct fit_seen *seen);

/* Adds to VIEW thread samples of waiting threads, so that all samples have the same threads in the same order.
 * Returns false if it has too many threads, or if threads share processors. */
bool fit_seen_fill(struct fit_seen *seen, struct fit_view *view);

#endif
