/* Internal to fit*.c: CPU times that are known only over many samples of a thread.
 *
 * A sampler that checks at random moments whether a thread runs or waits may know its CPU time exactly only now and then.
 * Samples in which the thread ran then have equal CPU times, although their intervals differ, and the CPU time of a window
 * is subject to chance. Between two checks, waiting is treated like another row: the time is interpolated linearly from one
 * to the other, and the errors are corrected in the same way.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_TIMES_H
#define ANALYZE_ATTRIBUTE_FIT_TIMES_H

#include "analyze/attribute/fit_view.h"

#define FIT_ALIKE 2. /* [ns] CPU times that differ by no more are equal: they were divided */

#define FIT_NO_MEAN UINT32_MAX

/* Successive samples of a thread that ran, with the same CPU time: together, that is exact. */
struct fit_mean {
    double cpu_ns, ns;   /* of each; how long it seemed to run up to the last */
    double error, scale; /* see fit_scattered.c */
    uint16_t column;     /* the same: of its latest sample, FIT_WAITS before the first */
    size_t samples, last;
    bool begins, ends; /* in this stretch */
};

/* A thread in a stretch. */
struct fit_looks {
    double cpu_ns, ns, spread; /* CPU time; time that ended while it ran; how much these differ */
    double open_ns;            /* how long it seemed to run since it was last seen running */
    size_t ran, alike, waited; /* samples; those with the CPU time of the one that ran before */
    size_t changes;            /* between running and waiting */
    uint32_t mean;             /* the latest */
    double error;              /* see fit_scattered.c */
};

/* Work space. */
struct fit_times {
    double *cpu_ns; /* by thread sample [ns] */
    double *error;  /* the same: see fit_scattered.c */
    struct stretch_use *uses;
    uint32_t *thread, *mean; /* by thread sample: its thread; the mean that is its CPU time */
    bool *waits;             /* by thread sample: its CPU time is that of waiting */
    struct fit_looks *looks; /* by thread */
    struct fit_mean *means;  /* numbered by their first samples */
    uint32_t threads, mean_count;
    size_t error_capacity, cpu_capacity, use_capacity, thread_capacity, mean_capacity,
        wait_capacity, look_capacity, means_capacity;
};

void fit_times_free(struct fit_times *times);

/* Did each of the same threads run in all samples, with a CPU time that differs from that in the sample before? This is the
 * common case. */
bool fit_times_differ(const struct fit_view *view);

/* Finds the threads, their samples and means of VIEW. */
void fit_times_follow(struct fit_times *times, const struct fit_view *view);

/* Replaces the CPU times of such threads in VIEW by their intervals, and sets WAITS of VIEW to where they waited. If a thread
 * waits and runs in turn, too briefly to be seen well, returns true, and VIEW stays as it is. */
bool fit_times_place(struct fit_times *times, struct fit_view *view);

#endif
