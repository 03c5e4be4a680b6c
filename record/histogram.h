/* Sums per program counter, kept in memory while a program runs and written when it has ended: the aggregated
 * dialect of `intrvelf`.
 *
 *   histogram_sample(histogram, &sample, find, context);     for each sample
 *   histogram_write(histogram, out, &target, &samples);      at the end
 *
 * That dialect means: time of a program counter = its samples * wall / samples of the header, energy = its current
 * * volts * wall / samples. So that both are right, whatever the engine: a sighting of a running thread counts 1,
 * and the header's number of samples is such that the times add up to the CPU time of all threads; what is written
 * as current is the energy, in such a measure that 1 volt gives joules. The energy between two samples goes to the
 * threads that the second one has seen running, by the CPU time that they have used since, up to the part of the
 * interval for which they ran; the rest is the program's idle time, which has no program counter.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_HISTOGRAM_H
#define RECORD_HISTOGRAM_H

#include "base/output.h"
#include "formats/raw/raw_readings.h"
#include "record/engine.h"
#include "record/images.h"

struct histogram;

/* READINGS: of the value, borrowed; they may come later than the samples, which wait for them. */
struct histogram *histogram_new(struct raw_readings *readings);
void histogram_delete(struct histogram *histogram); /* NULL is allowed */

/* FIND: the mapping of a file that PC of process PID is in; false: in none. Paths must stay until histogram_write. */
void histogram_sample(struct histogram *histogram, const struct engine_sample *sample,
                      bool (*find)(void *context, uint32_t pid, uint64_t pc, struct vmmap *place),
                      void *context);

/* No more samples nor readings will come. Returns the energy that program counters have got [J]. */
double histogram_end(struct histogram *histogram);

/* What is needed at the end; all borrowed. */
struct histogram_target {
    uint64_t wall, latency; /* [ns] */
    const struct vmmap *maps;
    size_t map_count;
};

/* Writes the documented part to OUT, with *SAMPLES the number of samples in its header. Returns 0, or -1 with the error
 * of output_open filled. */
int histogram_write(struct histogram *histogram, struct output *out,
                    const struct histogram_target *target, uint64_t *samples);

#endif
