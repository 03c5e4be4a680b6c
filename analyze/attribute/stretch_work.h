/* A stretch with its thread samples: what the default model of energy works on.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_STRETCH_WORK_H
#define ANALYZE_ATTRIBUTE_STRETCH_WORK_H

#include "analyze/attribute/stretch.h"

/* What else there is of a stretch that is settled, in words as those of packed sums. */
struct packed_stretch {
    size_t done, left; /* samples that have been handed out, and not yet */
    size_t last;       /* number from 1 of the thread sample that gets the rest; 0: none */
    uint64_t rest_high, rest_low, idle, idle_high, idle_low; /* nobody's; IDLE: some is not 0 */
    uint64_t all_high, all_low;                              /* what was measured */
};

struct share_work {
    struct stretch stretch;
    double *cpu_ns; /* of thread samples: CPU time in their intervals [ns] */
    double *of;     /* energy [J] */
    double *room;   /* work space, twice as much */
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

#endif
