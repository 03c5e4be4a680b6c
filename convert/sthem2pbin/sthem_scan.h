/* Collects facts about a sthem export in a pass over the whole file, before its samples can be
 * written.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_STHEM2PBIN_STHEM_SCAN_H
#define CONVERT_STHEM2PBIN_STHEM_SCAN_H

#include "base/report.h"
#include "formats/sthem/sthem.h"

/* How often cores were at a program counter. */
struct sthem_pc {
    uint64_t pc, samples;
};

struct sthem_summary {
    uint64_t rows, wall_ns;
    size_t cores;      /* cores that have a PC in any row */
    uint64_t *sensors; /* numbers of the sensors to be used */
    size_t sensor_count;
    double joules; /* energy of these sensors, approximate */
    /* the number of negative powers of these sensors, and the lowest [W] */
    uint64_t negative;
    double least;
    struct sthem_pc *pcs; /* each once; none if the export has names instead */
    size_t pc_count;
    bool powered; /* the power of some sensor is not always 0 */
    bool several; /* several cores are busy in some rows */
};

/* Reads STREAM (seekable) to its end, checks every row, and chooses the sensors: those of OPTIONS, else the only one
 * that is not always 0. Warns of repairs and of ignored columns. Returns 0, or -1 with ERR filled. Call
 * sthem_summary_free in any case. */
int sthem_scan(struct stream *stream, const struct sthem_options *options,
               struct sthem_summary *summary, struct reporter *reporter, struct error *err);
void sthem_summary_free(struct sthem_summary *summary);

#endif
