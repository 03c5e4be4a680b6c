/* A stretch with its thread samples: the working data of the default energy model.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_STRETCH_WORK_H
#define ANALYZE_ATTRIBUTE_STRETCH_WORK_H

#include "analyze/attribute/stretch.h"

/* Additional results of a settled stretch, in the words of packed sums. */
struct packed_stretch {
    bool varied;                         /* samples have different threads, so that USES is set */
    size_t done, left;                   /* samples that have been returned, and that remain */
    size_t done_threads, thread_samples; /* thread samples of the returned samples, and of all */
    size_t last;                  /* 1 + index of the thread sample with the remainder; 0: none */
    uint32_t row;                 /* row of LAST */
    uint64_t rest_high, rest_low; /* energy that is neither idle nor in a row yet */
    uint64_t idle, idle_high, idle_low;       /* idle energy; IDLE: not 0 */
    uint64_t others, others_high, others_low; /* energy of other programs; OTHERS: not 0 */
    uint64_t all_high, all_low;               /* measured energy */
};

struct share_work {
    struct stretch stretch;
    struct stretch_edges edges; /* of a late sensor */
    double *cpu_ns;             /* [thread samples]: CPU time in their intervals [ns] */
    double *of;                 /* [thread samples]: energy [J] */
    struct stretch_room room;
    struct stretch_use *uses;
    size_t capacity;
    struct thread_place {
        size_t sample, at;
    } * last; /* [threads]: last sample and thread sample; verified before use */
    size_t threads, thread_capacity;
    struct packed_stretch packed;
    bool undivided;              /* OF remains 0 */
    uint64_t windows, intervals; /* where the sensor was read more often than it changed */
};

/* UNDIVIDED: see struct weigh_options. OWN: samples of the profile have their own intervals. */
struct share_work *share_work_new(bool undivided, bool own);
void share_work_delete(struct share_work *work); /* NULL is allowed */

/* Settles the stretch. THREADS and USES: see stretch_divide. */
void share_work_settle(struct share_work *work, const uint64_t *threads,
                       const struct stretch_use *uses);

/* 1 + the index of the settled thread sample that gets the remainder from rounding: the last one
 * with energy. 0 if none has any. */
size_t share_work_find_last(const struct share_work *work, size_t thread_samples);

/* The limit for the CPU time of each thread sample in the first sample of a profile [ns], because
 * it may include time before the interval. The intervals must be set. */
double share_work_first_most(const struct share_work *work);

/* Makes room for COUNT thread samples. */
void share_work_reserve(struct share_work *work, size_t count);

/* Sets whether CPU times are sightings. They are if, among the first of them, a noticeable part
 * exceeds the time in which it was used. USES: see stretch_divide. */
void share_work_find_sighted(struct share_work *work, const uint64_t *threads,
                             const struct stretch_use *uses);

/* Sets the number of CPUs that other programs would use. BUSY_NS is the CPU time that the machine,
 * which has CPUS (INFINITY: unknown), used in each interval (NULL: unknown). The intervals and
 * their CPU times must be set, and whether these are sightings. Less than two ticks of the kernel's
 * clock counts as rounding. */
void stretch_find_others(struct stretch *stretch, const double *busy_ns, double cpus);

/* Returns whether threads take turns: at most one of the threads of COUNT thread samples runs at a
 * time. Their CPU times must be set. */
bool share_work_in_turn(const struct share_work *work, const uint64_t *thread, size_t count);

/* Sets USES and the CPU time of each interval. The intervals and the CPU times of thread samples
 * must be set. THREAD contains the thread of each thread sample. */
void share_work_find_uses(struct share_work *work, const uint64_t *threads, const uint64_t *thread);

#endif
