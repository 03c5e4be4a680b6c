/* Converts a recording of perf to pbin.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PERF2PBIN_PERF_CONVERT_H
#define CONVERT_PERF2PBIN_PERF_CONVERT_H

#include "convert/converter.h"
#include "formats/perf/perf.h"

struct perf_convert_options {
    struct converter base;
    const char **events; /* names of events whose samples count; none: the first clock, or else the
                          * first event */
    size_t event_count, event_capacity;
    uint64_t rate; /* samples per second of CPU time; 0: as recorded */
};

/* Writes PERF, read from the file FILE, to OUT. Returns 0, or -1 with ERR filled. */
int perf_convert(struct perf *perf, const char *file, const struct perf_convert_options *options,
                 struct output *out, struct reporter *reporter, struct error *err);

#endif
