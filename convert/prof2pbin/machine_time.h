/* Computes the CPU time that all processes of the machine used, for the samples of a pbin, from
 * power readings.
 *
 * The kernel counts it in ticks, and the sampler does not update it for each reading. Between two
 * readings that differ, it is interpolated linearly.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_MACHINE_TIME_H
#define CONVERT_PROF2PBIN_MACHINE_TIME_H

#include "formats/pbin/pbin.h"
#include "formats/raw/raw.h"

struct machine_time {
    struct pbin_writer *writer;
    struct raw_reading_walk walk; /* is ahead of the samples */
    bool known, ended;
    struct machine_point {
        uint64_t time, cpu_ns;
    } before, after; /* two readings that differ */
    uint64_t put;    /* samples processed */
    uint64_t given;  /* their CPU time [ns], since the first reading */
};

/* RAW and WRITER are borrowed until machine_time_end. Returns 0, or -1 with ERR filled;
 * machine_time_end is needed then, too. */
int machine_time_begin(struct machine_time *machine, const struct raw_profile *raw,
                       struct pbin_writer *writer, struct error *err);
void machine_time_end(struct machine_time *machine);

/* Writes the CPU time of the machine, if it is known, for the next COUNT samples, taken at TIME_NS
 * [COUNT, ns since the start of the run]. Call it before the samples are written. Returns 0, or -1
 * with ERR filled. */
int machine_time_put(struct machine_time *machine, const uint64_t *time_ns, size_t count,
                     struct error *err);

#endif
