/* Internal to analyze/dump/: samples and their times.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_DUMP_DUMP_INTERNAL_H
#define ANALYZE_DUMP_DUMP_INTERNAL_H

#include <math.h>

#include "analyze/dump/dump.h"

/* The last sample. With META set and all else zero: before the first. */
struct dump_position {
    const struct pbin_meta *meta;
    uint64_t samples, time_ns;
    double begin, time; /* of its interval, since the start of the run [s] */
};

/* Advances to the next sample, whose interval is INTERVAL_NS. */
void dump_advance(struct dump_position *position, uint64_t interval_ns);

static inline bool dump_is_inside(const struct dump_request *request, double time)
{
    bool inside = time >= request->start && time < request->end;
    *request->selected |= inside;
    return inside;
}

/* TIME as it is shown [s], FIRST being that of the first sample shown. */
static inline struct table_cell dump_time(const struct dump_request *request, double first,
                                          double time)
{
    return cell_real(request->normalized ? round((time - first) * 1e9) / 1e9 : time);
}

/* Returns 0, or -1 with ERR filled if META is that of an aggregated profile. */
int dump_check_samples(const struct pbin_meta *meta, struct error *err);

#endif
