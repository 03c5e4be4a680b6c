/* A stretch with its thread samples: what the default model of energy works on.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_STRETCH_WORK_H
#define ANALYZE_ATTRIBUTE_STRETCH_WORK_H

#include "analyze/attribute/stretch.h"

/* What else there is of a stretch that is settled, in words as those of packed sums. */
struct packed_stretch {
    bool varied;                         /* samples have not all the same threads: USES are set */
    size_t done, left;                   /* samples that have been handed out, and not yet */
    size_t done_threads, thread_samples; /* thread samples of the former, and of all */
    size_t last;  /* number from 1 of the thread sample that gets the rest; 0: nobody does */
    uint32_t row; /* that it is in */
    uint64_t rest_high, rest_low;             /* what is neither nobody's nor in a row yet */
    uint64_t idle, idle_high, idle_low;       /* nobody's; IDLE: some is not 0 */
    uint64_t others, others_high, others_low; /* the same of other programs */
    uint64_t all_high, all_low;               /* what was measured */
};

struct share_work {
    struct stretch stretch;
    double *cpu_ns; /* of thread samples: CPU time in their intervals [ns] */
    double *of;     /* energy [J] */
    struct stretch_room room;
    struct stretch_use *uses;
    size_t capacity;
    struct thread_place {
        size_t sample, at;
    } * last; /* by thread: the sample that it was in last, and its thread sample; checked before they are believed */
    size_t threads, thread_capacity;
    struct packed_stretch packed;
    uint64_t windows, intervals; /* where the sensor was read more often than it moved */
};

struct share_work *share_work_new(void);
void share_work_delete(struct share_work *work); /* NULL is allowed */

/* Settles the stretch; THREADS and USES as for stretch_divide. */
void share_work_settle(struct share_work *work, const uint64_t *threads,
                       const struct stretch_use *uses);

/* Makes room for COUNT thread samples. */
void share_work_reserve(struct share_work *work, size_t count);

/* Sets how many CPUs other programs used, if the machine used BUSY_NS in each interval (NULL: not known); the intervals and
 * the CPU times of THREAD_SAMPLES thread samples are set. Less than two ticks of the kernel's clock is not distinguished from
 * rounding. */
void share_work_find_others(struct share_work *work, const double *busy_ns, size_t thread_samples);

/* Is no more than one of the threads of COUNT thread samples, whose CPU times are set, running? */
bool share_work_in_turn(const struct share_work *work, const uint64_t *thread, size_t count);

/* Sets USES, and the CPU time of each interval; the intervals and the CPU times of thread samples are set. THREAD: of each
 * thread sample. */
void share_work_find_uses(struct share_work *work, const uint64_t *threads, const uint64_t *thread);

#endif
