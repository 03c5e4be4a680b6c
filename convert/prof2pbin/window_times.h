/* Divides the CPU time of each window of the power sensor among the sightings in it.
 *
 * Least squares need to know how much CPU time was used in each window. CPU times are exact at every
 * record, and those at an edge between two windows, a sample without threads, are interpolated. The
 * sightings of a thread in a window share its CPU time there equally, up to CPU_WINDOW at a time.
 * A thread with fewer than MIN_LOOKS sightings shares with other such threads or, if these have too
 * few together, with the thread that has the fewest: each sighting represents the same CPU time on
 * average, whichever thread it shows, and only the sum of the window has to be exact. If the whole
 * window has too few sightings for its CPU time, it is joined with the next window: sightings on
 * both sides of the edge then have equal CPU times.
 *
 *   window         |        1        |        2        |
 *   thread A       | s    s       s  |    s            |   1: A shares among 3, B and C among 2
 *   thread B       |        s        |                 |   2: all share among 2
 *   thread C       |           s     |         s       |
 *
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_WINDOW_TIMES_H
#define CONVERT_PROF2PBIN_WINDOW_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "convert/prof2pbin/weighed_thread.h"

enum { MIN_LOOKS = 2 };

struct window_times;

/* CPU time of up to LITTLE_NS in a window without sightings goes to the next window. */
struct window_times *window_times_new(uint64_t little_ns);
void window_times_delete(struct window_times *w); /* NULL is allowed */

/* Adds a record of thread number THREAD. RAN: it is a sighting, and its own CPU time is known if
 * ALONE. The thread has used BEFORE_NS up to the last edge since its previous record, if there was an
 * edge in between, and then AFTER_NS. */
void window_times_add(struct window_times *w, uint32_t thread, bool ran, bool alone,
                      uint64_t before_ns, uint64_t after_ns);

/* Notes an edge. */
void window_times_edge(struct window_times *w);

/* Ends the window before the edge, if there is one. To be called after each sample with threads. */
void window_times_settle(struct window_times *w);

/* Ends the last window. Returns whether there was any edge. */
bool window_times_end(struct window_times *w);

/* Moves the stretches of thread number THREAD to TO, which is empty. */
void window_times_take(struct window_times *w, uint32_t thread, struct weighed_thread *to);

#endif
