/* A thread whose sightings share its CPU time: see cpu_weights.h.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_WEIGHED_THREAD_H
#define CONVERT_PROF2PBIN_WEIGHED_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CPU_NS (UINT64_MAX / 2) /* of all threads: 292 years, so that no sum wraps */

/* CPU time, and the sightings that share it: their number, or their nominal CPU time. */
struct stretch {
    uint64_t weight, cpu_ns;
};

struct weighed_thread {
    struct stretch *stretches;
    size_t count, capacity;
    /* while samples are measured: the open stretch, and the last exact CPU time */
    uint64_t weight, cpu_ns, known_ns, last_ns;
    uint32_t task, image;
    uint64_t records;   /* remaining */
    uint64_t sightings; /* running; if CPU time is exact, those of the first records */
    /* if CPU time is exact: */
    uint64_t edge, seen_ns; /* number of the last edge before its last record, and time of that */
    bool in_gap;            /* it used CPU time in a gap, and was not seen running since */
    size_t after_gap;       /* number of the stretch after the last gap */
    uint64_t total_ns;
    /* while it is taken: of the stretch before AT, LEFT of WEIGHT is left; each unit of weight gets EACH_NS, and REST of
     * every WEIGHT units one more: ODD is how near the next one is */
    size_t at;
    uint64_t left, each_ns, rest, odd;
    bool orphan; /* no sighting can get its total */
    bool equal;  /* all its sightings have the same weight, 1 */
    /* If CPU time is exact: what it was at the sightings of a short thread, otherwise NULL, and at its end [ns] */
    uint64_t *ages_ns, life_ns;
    size_t age_capacity;
    uint64_t own_ns; /* CPU time that no engine counts: in the kernel at its beginning and end */
};

/* VALUE * PART / WHOLE, rounded down; PART <= WHOLE. */
static inline uint64_t cpu_weights_scale(uint64_t value, uint64_t part, uint64_t whole)
{
    uint64_t product;
    if (!__builtin_mul_overflow(value, part, &product))
        return product / whole;
    return (uint64_t)((unsigned __int128)value * part / whole);
}

#endif
