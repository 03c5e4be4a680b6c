/* Instruction traces of the TracerV bridge of FireSim, in their binary form: the instructions
 * committed in each cycle.
 *
 *   a line of text      describes the clock
 *   8 words per cycle   the cycle, then up to 7 instructions: bit 40 is set if there is one, bits 39..0 are its address
 *
 * Words have 64 bits and are little endian.
 *
 *   trace = tracerv_open(stream, &options, err);
 *   while ((got = tracerv_next(trace, &cycle, err)) > 0) ...
 *   tracerv_close(trace)
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TRACE_TRACERV_H
#define FORMATS_TRACE_TRACERV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stream.h"

#define TRACERV_MAX_CYCLE (UINT64_C(1) << 56)
enum { TRACERV_LANES = 7, TRACERV_MAX_LINE = 4096 };

struct tracerv_options {
    bool keep_addresses; /* do not extend addresses in the kernel to 64 bits */
    bool salvage;        /* ignore an incomplete record at the end of the file */
};

/* A cycle with instructions. */
struct tracerv_cycle {
    uint64_t number;
    size_t count;
    uint64_t pcs[TRACERV_LANES];
};

struct tracerv;

/* Checks whether STREAM, which must be at its beginning, is a trace. Returns the size of the first
 * line [bytes], or -1. */
int64_t tracerv_check(struct stream *stream, struct error *err);

/* Reads the first line. STREAM is borrowed until tracerv_close. Returns NULL with ERR filled. */
struct tracerv *tracerv_open(struct stream *stream, const struct tracerv_options *options,
                             struct error *err);
void tracerv_close(struct tracerv *trace);

/* Returns 1 with CYCLE filled, whose number is higher than that of the previous cycle; 0 at the
 * end; or -1. */
int tracerv_next(struct tracerv *trace, struct tracerv_cycle *cycle, struct error *err);

/* The number of records so far, and of those that were left out because they have instructions but
 * their cycle was not after the previous one. */
uint64_t tracerv_records(const struct tracerv *trace);
uint64_t tracerv_disordered(const struct tracerv *trace);

/* Returns whether the file ended inside a record (and was salvaged). */
bool tracerv_is_cut(const struct tracerv *trace);

#endif
