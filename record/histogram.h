/* Sums per program counter, kept in memory while a program runs and written when it has ended: the aggregated
 * dialect of `intrvelf`.
 *
 *   histogram_sample(histogram, &sample, image_of, context);     for each sample
 *   histogram_write(histogram, out, &target);                     at the end
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

struct histogram;

/* READINGS: of the value, borrowed; they may come later than the samples, which wait for them. */
struct histogram *histogram_new(struct raw_readings *readings);
void histogram_delete(struct histogram *histogram); /* NULL is allowed */

/* IMAGE_OF: the image of a process at the moment. */
void histogram_sample(struct histogram *histogram, const struct engine_sample *sample,
                      uint32_t (*image_of)(void *context, uint32_t pid), void *context);

/* A mapping of the header; LABEL is padded with NUL. */
struct histogram_map {
    uint64_t address, size;
    const char *label;
};

enum { HISTOGRAM_LABEL = 256 };

/* What is needed at the end; all borrowed. */
struct histogram_target {
    uint64_t wall, latency; /* [ns] */
    const struct histogram_map *maps;
    size_t map_count;
    /* Which byte of which map PC of IMAGE is; false: of none. */
    bool (*resolve)(void *context, uint32_t image, uint64_t pc, size_t *map, uint64_t *byte);
    void *context;
};

/* Writes the documented part to OUT. Returns 0, or -1 with the error of output_open filled. */
int histogram_write(struct histogram *histogram, struct output *out,
                    const struct histogram_target *target);

/* Energy that program counters have got [J]. */
double histogram_energy(const struct histogram *histogram);

#endif
