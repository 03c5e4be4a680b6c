/* A thread whose sightings share its CPU time: see cpu_weights.h.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_WEIGHED_THREAD_H
#define CONVERT_PROF2PBIN_WEIGHED_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CPU_NS (UINT64_MAX / 2) /* of all threads: 292 years, so that no sum wraps */

enum { CPU_WINDOW = 16 }; /* successive sightings of a thread that share CPU time */

/* CPU time, and the sightings that share it: their number, or their nominal CPU time. */
struct stretch {
    uint64_t weight, cpu_ns;
};

struct bursts;

struct weighed_thread {
    struct stretch *stretches;
    size_t count, capacity;
    /* while samples are measured: the open stretch, and the last exact CPU time */
    uint64_t weight, cpu_ns, known_ns, last_ns;
    uint32_t task, image;
    uint64_t records;   /* remaining */
    uint64_t sightings; /* seen running; if CPU time is exact, only among the first records */
    /* if CPU time is exact: */
    uint64_t edge, seen_ns; /* number of the last edge before its last record, and time of that */
    bool ran;               /* it was running at its last record */
    bool in_gap;            /* it used CPU time in a gap, and has not been seen running since */
    size_t after_gap;       /* number of the stretch after the last gap */
    uint64_t total_ns;
    /* while CPU time is taken: LEFT of the WEIGHT of the stretch before AT is left; each unit of
     * weight gets EACH_NS, and REST of every WEIGHT units get 1 ns more; ODD is the remainder so
     * far */
    size_t at;
    uint64_t left, each_ns, rest, odd;
    bool orphan; /* no sighting can get its total */
    bool alike;  /* all its sightings have the same weight, 1 */
    /* If CPU time is exact: the CPU time at the sightings of a short thread, otherwise NULL, and at
     * its end [ns] */
    uint64_t *ages_ns, life_ns;
    size_t age_capacity;
    struct bursts *bursts;        /* NULL: it has not slept, or CPU time is not exact */
    struct weighed_thread *equal; /* the CPU times for least squares; NULL: no difference */
    uint64_t own_ns; /* CPU time that no engine counts: in the kernel at its beginning and end */
};

/* Both divide CPU time among the stretches of THREAD in proportion to the CPU time of these, or to
 * their weights if they have none. weighed_thread_add adds EXTRA_NS to them; weighed_thread_set
 * replaces their CPU time, and that of THREAD, by TOTAL_NS. */
void weighed_thread_add(struct weighed_thread *thread, uint64_t extra_ns);
void weighed_thread_set(struct weighed_thread *thread, uint64_t total_ns);

#endif
