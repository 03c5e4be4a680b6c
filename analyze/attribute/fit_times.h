/* Used by fit*.c: CPU times that are known only over many samples of a thread.
 *
 * A sampler that checks at random moments whether a thread runs or waits may read its exact CPU
 * time only now and then. Samples in which the thread ran then have equal CPU times although their
 * intervals differ, and the CPU time of a window is subject to chance. Between two checks, waiting
 * is treated like another row: the time is interpolated linearly between them, and errors are
 * corrected in the same way.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_TIMES_H
#define ANALYZE_ATTRIBUTE_FIT_TIMES_H

#include "analyze/attribute/fit_view.h"

#define FIT_ALIKE 2. /* [ns] CPU times that differ by at most this are equal parts */

#define FIT_NO_MEAN UINT32_MAX

/* A thread that waits in fewer than one of so many samples hardly waits. */
enum { FIT_RARE_WAIT = 16 };

/* Successive samples of a thread, or of several, that ran, with the same CPU time. Their total is
 * exact. */
struct fit_mean {
    double cpu_ns, ns;   /* per sample; time it seemed to run up to LAST */
    double error, scale; /* see fit_scattered.c */
    /* see fit_scattered.c: of its latest sample; at first FIT_WAITS */
    uint16_t column;
    uint32_t thread;
    size_t samples, last;
    bool begins, ends; /* within this stretch */
};

/* The sightings of a thread in a stretch. */
struct fit_looks {
    double cpu_ns, ns, spread; /* CPU time; intervals in which it ran; their differences */
    double open_ns;            /* time it seemed to run since it was last seen running */
    size_t ran, alike, waited; /* samples; those with the CPU time of the last that ran */
    size_t changes;            /* between running and waiting */
    uint32_t mean;             /* the latest */
    double error;              /* see fit_scattered.c */
};

/* Work space. */
struct fit_times {
    double *cpu_ns; /* [thread samples] [ns] */
    double *error;  /* [thread samples]: see fit_scattered.c */
    struct stretch_use *uses;
    uint32_t *thread, *mean; /* [thread samples]: thread, and the mean with its CPU time */
    bool *waits;             /* [thread samples]: CPU_NS is time that it waited */
    bool few_empty;          /* samples without threads are few, and threads run there */
    struct fit_looks *looks; /* [threads] */
    struct fit_mean *means;  /* in the order of their first samples */
    uint32_t threads, mean_count;
    size_t error_capacity, cpu_capacity, use_capacity, thread_capacity, mean_capacity,
        wait_capacity, look_capacity, means_capacity;
};

void fit_times_free(struct fit_times *times);

/* Returns whether all samples have the same threads, each of which always ran, with a CPU time that
 * differs from the one in the sample before. This is the common case. */
bool fit_times_differ(const struct fit_view *view);

/* Finds the threads of VIEW, their samples and means. ACROSS: threads may share means. */
void fit_times_follow(struct fit_times *times, const struct fit_view *view, bool across);

/* In VIEW, replaces the CPU times of threads seen at random moments by their intervals, and sets
 * WAITS for the samples in which they waited; both arrays belong to TIMES. Returns true, and leaves
 * VIEW as it is, if a thread alternates between waiting and running too fast to be well seen. */
bool fit_times_place(struct fit_times *times, struct fit_view *view);

#endif
