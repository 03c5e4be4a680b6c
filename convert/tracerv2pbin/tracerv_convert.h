/* Converts an instruction trace of TracerV to pbin: each cycle with instructions is a sample.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_TRACERV2PBIN_TRACERV_CONVERT_H
#define CONVERT_TRACERV2PBIN_TRACERV_CONVERT_H

#include "convert/converter.h"
#include "convert/symbolize/pc_sums.h"
#include "formats/trace/tracerv.h"

struct tracerv_convert_options {
    struct converter base;
    double mhz;   /* clock of the core */
    uint64_t gap; /* report gaps of more cycles without an instruction; 0: report none */
    struct tracerv_options reading;
};

/* The facts known after a first pass over the whole trace. */
struct tracerv_summary {
    struct pc_sums sums;
    uint64_t cycles, first, last; /* with instructions; their lowest and highest number */
    uint64_t records, disordered, gaps;
    uint64_t wall_ns; /* sum of the times of all samples */
    size_t lanes;     /* the most instructions in a cycle */
    bool cut;
};

/* Fills SUMMARY from STREAM, which it reads to its end, and prints gaps. Returns 0, or -1 with ERR
 * filled. Call pc_sums_free for SUMMARY->sums in any case. */
int tracerv_look(struct stream *stream, const struct tracerv_convert_options *options,
                 struct tracerv_summary *summary, struct error *err);

/* Converts STREAM, which must be at its beginning again, to OUT. Returns 0, or -1 with ERR
 * filled. */
int tracerv_convert(struct stream *stream, const struct tracerv_convert_options *options,
                    const struct tracerv_summary *summary, struct output *out,
                    struct reporter *reporter, struct error *err);

#endif
