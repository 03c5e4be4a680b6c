/* Used by fit*.c: recordings without CPU times.
 *
 * Such a recording, for example from the tracer of a board, shows only which threads (cores) were
 * seen running, and where. A thread that is missing from a sample waits. Between a sample with the
 * thread and one without it, waiting is treated like another row: the time is interpolated linearly
 * between the two.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_SEEN_H
#define ANALYZE_ATTRIBUTE_FIT_SEEN_H

#include "analyze/attribute/fit_view.h"

/* Work space. */
struct fit_seen {
    uint64_t threads[STRETCH];
    double *cpu_ns; /* [thread samples] */
    uint32_t *row, *thread;
    bool *waits;
    size_t cpu_capacity, row_capacity, thread_capacity, wait_capacity;
};

void fit_seen_free(struct fit_seen *seen);

/* Adds thread samples for waiting threads to VIEW, so that all samples have the same threads in the
 * same order; VIEW then borrows the memory of SEEN. Returns false, and leaves VIEW as it is, if
 * there are too many threads, or if threads share processors. */
bool fit_seen_fill(struct fit_seen *seen, struct fit_view *view);

#endif
