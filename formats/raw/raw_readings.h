/* What power sources said, and what follows from it for the time between two samples.
 *
 *   readings = raw_readings_new(sources, count);
 *   raw_readings_add(readings, &reading); ...
 *   value = raw_readings_value(readings, t_before, t);        documented value of the sample at t
 *   raw_readings_forget(readings, t);                         no question about before t will come
 *
 * An energy counter E is a straight line between two readings, and flat before its first and after its last one:
 * means times intervals add up to what it counted. A power, current or voltage is a straight line between two readings,
 * and as its nearest reading outside them. A custom value stays as it was read.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_READINGS_H
#define FORMATS_RAW_RAW_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/pbin/pmu_kind.h"
#include "formats/raw/raw_extension.h"

struct raw_readings;

/* Of COUNT sources, numbered as there; nothing is borrowed. */
struct raw_readings *raw_readings_new(const struct raw_source *sources, size_t count);
void raw_readings_delete(struct raw_readings *readings); /* NULL is allowed */

/* Adds READING. Returns 0, or -1 if it is dropped: without a source, earlier than the last one of its source, a counter
 * that decreased, or not a finite number. */
int raw_readings_add(struct raw_readings *readings, const struct raw_reading *reading);

/* The time [ns] up to which all sources of the documented value have readings; 0 if one has none, UINT64_MAX without
 * any such source. */
uint64_t raw_readings_until(const struct raw_readings *readings);

/* Drops readings that no question about FROM or later needs. */
void raw_readings_forget(struct raw_readings *readings, uint64_t from);

/* What SOURCE added up to between FROM and TO [ns], FROM <= TO: of an energy counter or a power joules, of others unit
 * times seconds. Questions that come in order of time are answered fastest. 0 where it has no readings. */
double raw_readings_energy(struct raw_readings *readings, size_t source, uint64_t from,
                           uint64_t to);

/* The documented value of a sample at TO after one at FROM: the sum, over the sources that are part of it, of the mean
 * between FROM and TO (FROM = TO: of the value then), of custom ones of the last reading at or before TO. */
double raw_readings_value(struct raw_readings *readings, uint64_t from, uint64_t to);

/* The same of SOURCE alone, whether it is part of the documented value or not. */
double raw_readings_value_of(struct raw_readings *readings, size_t source, uint64_t from,
                             uint64_t to);

/* What that value is: PMU_POWER of energy and power, PMU_NONE where no source is part of it. */
enum pmu_kind raw_readings_kind(const struct raw_readings *readings);

#endif
