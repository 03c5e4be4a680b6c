/* The values of each power source of a raw profile, as columns of a pbin beside the PMU value.
 *
 *   values = source_values_new(raw, writer);            after the sources are defined in WRITER
 *   source_values_put(values, before, times, count, &room, err);   per room of samples
 *   source_values_delete(values);
 *
 * A value is the mean of its source over the interval of a sample, by the rule of the PMU value (raw_readings.h). If
 * the PMU value has only one source, that source has no separate column.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_SOURCE_VALUES_H
#define CONVERT_PROF2PBIN_SOURCE_VALUES_H

#include "formats/pbin/pbin.h"
#include "formats/raw/raw.h"

struct source_values;

/* RAW and WRITER are borrowed until source_values_delete. Returns NULL if no source needs a column. */
struct source_values *source_values_new(const struct raw_profile *raw, struct pbin_writer *writer);
void source_values_delete(struct source_values *values); /* NULL is allowed */

/* Sets the values of COUNT samples in ROOM, taken at TIME_NS [COUNT] after a sample at BEFORE_NS
 * [ns since the start of the run]; samples must be in order. Returns 0, or -1 with ERR filled if
 * readings could not be read. VALUES may be NULL. */
int source_values_put(struct source_values *values, uint64_t before_ns, const uint64_t *time_ns,
                      size_t count, const struct pbin_room *room, struct error *err);

#endif
