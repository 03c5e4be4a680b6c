/* Readings of power sources, and the values computed from them for the time between two samples.
 *
 *   readings = raw_readings_new(sources, count);
 *   raw_readings_add(readings, &reading); ...
 *   value = raw_readings_value(readings, t_before, t);        documented value of the sample at t
 *   raw_readings_forget(readings, t);                         no later call needs times before t
 *
 * An energy counter is interpolated linearly between readings, and is constant before the first and
 * after the last one, so that means times intervals add up to the counted energy. Powers, currents
 * and voltages are interpolated linearly between readings, and equal the nearest reading elsewhere.
 * A custom value keeps its last reading.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_READINGS_H
#define FORMATS_RAW_RAW_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/pbin/pmu_kind.h"
#include "formats/raw/raw_extension.h"

struct raw_readings;

/* Readings of COUNT sources, numbered as in SOURCES; nothing is borrowed. */
struct raw_readings *raw_readings_new(const struct raw_source *sources, size_t count);
void raw_readings_delete(struct raw_readings *readings); /* NULL is allowed */

/* Adds READING. Returns 0, or -1 if it is dropped because it has no source, is earlier than the
 * last reading of its source, is below it (energy counters), or is not finite. */
int raw_readings_add(struct raw_readings *readings, const struct raw_reading *reading);

/* The time [ns] up to which all sources of the documented value have readings; 0 if one of them has
 * none, UINT64_MAX if the value has no source. */
uint64_t raw_readings_until(const struct raw_readings *readings);

/* Drops readings that are not needed for times at or after FROM. */
void raw_readings_forget(struct raw_readings *readings, uint64_t from);

/* The integral of SOURCE from FROM to TO [ns], FROM <= TO: joules for an energy counter or a power, unit times seconds
 * for others; 0 if it has no readings. Calls in order of time are fastest. */
double raw_readings_energy(struct raw_readings *readings, size_t source, uint64_t from,
                           uint64_t to);

/* The documented value of a sample at TO whose previous sample was at FROM. It is the sum over the
 * sources that are part of it: of their means between FROM and TO (if FROM = TO, their values at
 * that time), or, for custom sources, of their last readings at or before TO. */
double raw_readings_value(struct raw_readings *readings, uint64_t from, uint64_t to);

/* The same for SOURCE alone, even if it is not part of the documented value. */
double raw_readings_value_of(struct raw_readings *readings, size_t source, uint64_t from,
                             uint64_t to);

#endif
