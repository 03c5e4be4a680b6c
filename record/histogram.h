/* Sums per program counter, kept in memory while a program runs and written at its end in the
 * aggregated dialect of `intrvelf`.
 *
 *   histogram_sample(histogram, &sample, find, context);     for each sample
 *   histogram_write(histogram, out, &target, &sums);         at the end
 *
 * In that dialect, the time of a program counter is its samples * wall / samples of the header, and
 * its energy is its current * volts * wall / samples. To make both correct for all engines, a
 * sighting of a running thread counts 1, and the number of samples in the header is chosen so that
 * the times add up to the CPU time of all threads; the current is the energy, scaled so that 1 volt
 * gives joules. A sighting gets the power of the interval before it for the same CPU time as all
 * others, divided by the number of threads that were seen running: at constant power, time and
 * energy are in proportion. The rest is idle energy and has no program counter. The dialect has a
 * single counter for all program counters outside the mappings; the raw extension contains the part
 * of the kernel and the idle energy.
 *
 * If a program often calls the kernel, the ptrace engine sees it in the kernel too often. Ticks are
 * unbiased: if the sightings in the kernel exceed those that the program's ticks imply, by more
 * than twice the standard error of the difference, the excess counts as user code of the program
 * instead, everywhere in proportion. If there are too few, page faults were not seen: the same
 * number of sightings in user code count as sightings in the kernel, at places where page faults
 * are likely (raw_fault_places.h).
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_HISTOGRAM_H
#define RECORD_HISTOGRAM_H

#include "base/output.h"
#include "formats/raw/raw_readings.h"
#include "record/engine.h"
#include "record/images.h"

struct histogram;

/* READINGS are those of the value, borrowed; readings may be added after the samples that need
 * them, which wait until then. Caller calls histogram_delete. */
struct histogram *histogram_new(struct raw_readings *readings);
void histogram_delete(struct histogram *histogram); /* NULL is allowed */

/* Both functions are called only for processes of the sample that is being added. */
struct histogram_finder {
    void *context;
    /* Finds the mapping of a file that contains PC of process PID; false: none. Its path must
     * remain valid until histogram_write. */
    bool (*place)(void *context, uint32_t pid, uint64_t pc, struct vmmap *place);
    /* Returns a small number for the program that process PID runs. */
    uint32_t (*program)(void *context, uint32_t pid);
};

/* Adds SAMPLE; its energy is assigned when the readings up to its time have been added. */
void histogram_sample(struct histogram *histogram, const struct engine_sample *sample,
                      const struct histogram_finder *finder);
/* Adds the ticks of a process that runs PROGRAM. */
void histogram_ticks(struct histogram *histogram, uint32_t program, const struct raw_ticks *ticks);

/* To be called after the last sample and reading. Returns the energy of all samples, including idle
 * energy [J]. */
double histogram_end(struct histogram *histogram);

/* Data for the end of the profile; all borrowed. */
struct histogram_target {
    uint64_t wall, latency; /* [ns] */
    uint64_t cpu;           /* of all threads, by the kernel: at most [ns]; 0: unknown */
    uint64_t tick;          /* time between two kernel ticks [ns]; 0: unknown */
    uint64_t faults; /* page faults of all processes; UINT64_MAX: the kernel is not sampled */
    const struct vmmap *maps;
    size_t map_count;
};

/* Data that the documented part does not contain; currents are sums, as they are there. */
struct histogram_sums {
    uint64_t samples; /* number of samples in the header */
    uint64_t kernel_samples;
    double kernel_current, idle_current;
};

/* Writes the documented part to OUT and fills SUMS. Returns 0, or -1 with the error of output_open filled. */
int histogram_write(struct histogram *histogram, struct output *out,
                    const struct histogram_target *target, struct histogram_sums *sums);

#endif
