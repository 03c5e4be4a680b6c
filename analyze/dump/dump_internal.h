/* Internal to analyze/dump/dump*.c: samples and their times.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_DUMP_DUMP_INTERNAL_H
#define ANALYZE_DUMP_DUMP_INTERNAL_H

#include <math.h>

#include "analyze/dump/dump.h"

/* The position of the last sample. If only META is set and all else is zero: before the first
 * one. */
struct dump_position {
    const struct pbin_meta *meta;
    uint64_t samples, time_ns;
    double begin, time; /* start and end of its interval, since the start of the run [s] */
};

/* Advances to the next sample, whose interval is INTERVAL_NS. */
void dump_advance(struct dump_position *position, uint64_t interval_ns);

static inline bool dump_is_inside(const struct dump_request *request, double time)
{
    bool inside = time >= request->start && time < request->end;
    *request->selected |= inside;
    return inside;
}

/* TIME as it is shown [s]. FIRST is the time of the first sample shown. */
static inline struct table_cell dump_time(const struct dump_request *request, double first,
                                          double time)
{
    return cell_real(request->normalized ? round((time - first) * 1e9) / 1e9 : time);
}

/* Returns 0, or -1 with ERR filled if META belongs to an aggregated profile. */
int dump_check_samples(const struct pbin_meta *meta, struct error *err);

#endif
