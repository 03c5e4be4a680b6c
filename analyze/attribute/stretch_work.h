/* A stretch with its thread samples, the working data of the default energy model.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_STRETCH_WORK_H
#define ANALYZE_ATTRIBUTE_STRETCH_WORK_H

#include "analyze/attribute/stretch.h"

/* Further results of a settled stretch, in the words of packed sums. */
struct packed_stretch {
    bool varied;                         /* samples differ in their threads: USES is set */
    size_t done, left;                   /* samples that have been returned, and the others */
    size_t done_threads, thread_samples; /* thread samples of the former, and of all */
    size_t last;                  /* 1 + index of the thread sample that gets the rest; 0: none */
    uint32_t row;                 /* of LAST */
    uint64_t rest_high, rest_low; /* neither idle energy nor in a row yet */
    uint64_t idle, idle_high, idle_low;       /* idle energy; IDLE: it is not 0 */
    uint64_t others, others_high, others_low; /* the same for other programs */
    uint64_t all_high, all_low;               /* measured energy */
};

struct share_work {
    struct stretch stretch;
    struct stretch_edges edges; /* of a late sensor */
    double *cpu_ns;             /* of thread samples: CPU time in their intervals [ns] */
    double *of;                 /* energy [J] */
    struct stretch_room room;
    struct stretch_use *uses;
    size_t capacity;
    struct thread_place {
        size_t sample, at;
    } * last; /* by thread: its last sample and thread sample; verified before use */
    size_t threads, thread_capacity;
    struct packed_stretch packed;
    bool undivided;              /* OF remains 0 */
    uint64_t windows, intervals; /* where the sensor was read more often than it changed */
};

/* UNDIVIDED: see struct weigh_options; OWN: the profile has own_intervals. */
struct share_work *share_work_new(bool undivided, bool own);
void share_work_delete(struct share_work *work); /* NULL is allowed */

/* Settles the stretch; THREADS and USES as for stretch_divide. */
void share_work_settle(struct share_work *work, const uint64_t *threads,
                       const struct stretch_use *uses);

/* 1 + the index of the settled thread sample that gets the remainder from rounding: the last with energy. 0: none has any. */
size_t share_work_find_last(const struct share_work *work, size_t thread_samples);

/* The CPU time [ns] that counts, at most, of each thread sample of a profile's first sample, whose CPU times may include
 * time before its interval. The intervals must be set. */
double share_work_first_most(const struct share_work *work);

/* Makes room for COUNT thread samples. */
void share_work_reserve(struct share_work *work, size_t count);

/* Sets whether CPU times are sightings: of the first that are seen, noticeably many exceed the time in which they were
 * used. USES as for stretch_divide. */
void share_work_find_sighted(struct share_work *work, const uint64_t *threads,
                             const struct stretch_use *uses);

/* Sets how many CPUs other programs would use, from the CPU time BUSY_NS that the machine with CPUS (INFINITY: unknown)
 * used in each interval (NULL: unknown). The intervals and their CPU times must be set, and whether they are sightings.
 * Less than two ticks of the kernel's clock counts as rounding. */
void stretch_find_others(struct stretch *stretch, const double *busy_ns, double cpus);

/* Is at most one of the threads of COUNT thread samples running at a time? Their CPU times must be set. */
bool share_work_in_turn(const struct share_work *work, const uint64_t *thread, size_t count);

/* Sets USES and the CPU time of each interval. The intervals and the CPU times of thread samples must be set. THREAD
 * has the thread of each thread sample. */
void share_work_find_uses(struct share_work *work, const uint64_t *threads, const uint64_t *thread);

#endif
