/* Internal to fit*.c: CPU times that are known only over many samples of a thread.
 *
 * A sampler that looks at random moments whether a thread runs or waits may know its CPU time exactly only now and then.
 * Samples in which it ran then have equal CPU times, although their intervals differ, and the CPU time of a window is a
 * matter of chance. Between two looks, waiting is like another row: time passes from one to the other in a straight
 * line, and the errors of that are corrected in the same way.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_TIMES_H
#define ANALYZE_ATTRIBUTE_FIT_TIMES_H

#include "analyze/attribute/fit_view.h"

#define FIT_ALIKE 2. /* [ns] CPU times that differ by no more are equal: they were divided */

struct fit_looks;

/* Work space. */
struct fit_times {
    double *cpu_ns; /* by thread sample [ns] */
    struct stretch_use *uses;
    uint32_t *thread, *mean; /* by thread sample: its thread; the mean that is its CPU time */
    bool *waits;             /* by thread sample: its CPU time is that of waiting */
    struct fit_looks *looks; /* by thread */
    struct fit_mean *means;
    uint32_t threads, mean_count;
    size_t cpu_capacity, use_capacity, thread_capacity, mean_capacity, wait_capacity, look_capacity,
        means_capacity;
};

void fit_times_free(struct fit_times *times);

/* Did each of the same threads run in all samples, with another CPU time than in the sample before? This is the
 * common case. */
bool fit_times_differ(const struct fit_view *view);

/* Replaces the CPU times of such threads in VIEW by their intervals, and sets WAITS of VIEW to where they waited. If a thread
 * waits and runs in turn, too briefly to be seen well, returns true with ENDS[i] set for each sample up to which its CPU time
 * is exact: windows should end there. */
bool fit_times_place(struct fit_times *times, struct fit_view *view, bool *ends);

#endif
