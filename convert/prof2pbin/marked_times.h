/* Divides the CPU time between the marks of a nominal engine among the sightings in between.
 *
 * Such an engine knows the CPU time of a thread only at its end, and what a sighting represents only
 * nominally, but it reports the CPU time of the whole program at new values of the power sensor.
 * Least squares compare the CPU times of each window of the sensor with its energy, so the sightings
 * in a window get its CPU time, in proportion to their nominal CPU times. If there are none, the CPU
 * time belongs to the next window.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_MARKED_TIMES_H
#define CONVERT_PROF2PBIN_MARKED_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "convert/prof2pbin/weighed_thread.h"
#include "formats/raw/raw_extension.h"

struct marked_times;

/* MARKS is borrowed, and in order of time. */
struct marked_times *marked_times_new(const struct raw_mark *marks, size_t count);
void marked_times_delete(struct marked_times *times); /* NULL is allowed */

/* Returns whether the window ends before TIME_NS. */
bool marked_times_ends(const struct marked_times *times, uint64_t time_ns);

/* Ends the windows that end before TIME_NS. To be called before the sightings of a sample are
 * added. */
void marked_times_pass(struct marked_times *times, uint64_t time_ns);

/* Adds sightings of thread number THREAD with the nominal CPU time WEIGHT [ns], at least 1. */
void marked_times_add(struct marked_times *times, uint32_t thread, uint64_t weight);

/* Ends the last windows. Sightings after the last mark keep their nominal CPU times. */
void marked_times_end(struct marked_times *times);

/* Moves the stretches of thread number THREAD to TO, which is empty. */
void marked_times_take(struct marked_times *times, uint32_t thread, struct weighed_thread *to);

#endif
