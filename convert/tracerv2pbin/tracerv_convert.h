/* From an instruction trace of TracerV to pbin: each cycle with instructions is a sample.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_TRACERV2PBIN_TRACERV_CONVERT_H
#define CONVERT_TRACERV2PBIN_TRACERV_CONVERT_H

#include "convert/converter.h"
#include "convert/symbolize/pc_sums.h"
#include "formats/trace/tracerv.h"

struct tracerv_convert_options {
    struct converter base;
    double mhz;   /* clock of the core */
    uint64_t gap; /* cycles without an instruction that are reported if there are more; 0: none */
    struct tracerv_options reading;
};

/* What is known after a first look at the whole trace. */
struct tracerv_summary {
    struct pc_sums sums;
    uint64_t cycles, first, last; /* cycles with instructions; their least and greatest number */
    uint64_t records, disordered, gaps;
    uint64_t wall_ns; /* sum of the times of all samples */
    size_t lanes;     /* the most instructions of a cycle */
    bool cut;
};

/* Reads STREAM to its end, and prints gaps. Returns 0, or -1 with ERR filled. Call pc_sums_free in any case. */
int tracerv_look(struct stream *stream, const struct tracerv_convert_options *options,
                 struct tracerv_summary *summary, struct error *err);

/* Writes STREAM, at its beginning again, to OUT. Returns 0, or -1 with ERR filled. */
int tracerv_convert(struct stream *stream, const struct tracerv_convert_options *options,
                    const struct tracerv_summary *summary, struct output *out,
                    struct reporter *reporter, struct error *err);

#endif
