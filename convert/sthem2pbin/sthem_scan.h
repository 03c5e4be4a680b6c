/* What must be known of a sthem export before its samples can be written: a pass over the whole file.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_STHEM2PBIN_STHEM_SCAN_H
#define CONVERT_STHEM2PBIN_STHEM_SCAN_H

#include "base/report.h"
#include "formats/sthem/sthem.h"

struct sthem_summary {
    uint64_t rows, wall_ns;
    size_t cores;      /* that ever show a PC */
    uint64_t *sensors; /* numbers of those to be used */
    size_t sensor_count;
    double joules; /* of those, approximate */
    /* how often one of them had a negative power, and the smallest [W] */
    uint64_t negative;
    double least;
    bool powered; /* one of them is not always 0 */
    bool several; /* rows exist where several cores are busy */
};

/* Reads STREAM (seekable) to its end, checks every row, and chooses the sensors: those of OPTIONS, else the only one
 * that is not always 0. Warns of what was repaired and ignored. Returns 0, or -1 with ERR filled.
 * sthem_summary_free in any case. */
int sthem_scan(struct stream *stream, const struct sthem_options *options,
               struct sthem_summary *summary, struct reporter *reporter, struct error *err);
void sthem_summary_free(struct sthem_summary *summary);

#endif
