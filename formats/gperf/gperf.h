/* CPU profiles of gperftools (libprofiler, CPUPROFILE=FILE): counts of call stacks, then the mappings of the process.
 *
 *   words:  0, words that follow (3), version (0), period [us], 0
 *           count, depth, PC, callers ...          repeated
 *           0, 1, 0
 *   text:   the lines of /proc/PID/maps
 *
 * Words have the size and byte order of the machine.
 *
 *   gperf = gperf_open(stream, &options, err);
 *   while ((got = gperf_next(gperf, &stack, err)) > 0) ...
 *   while ((got = gperf_next_map(gperf, &map, err)) > 0) ...
 *   gperf_close(gperf)
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_GPERF_GPERF_H
#define FORMATS_GPERF_GPERF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stream.h"

enum { GPERF_MAX_DEPTH = 1 << 16, GPERF_MAX_LINE = 1 << 16 };

struct gperf_options {
    char order; /* 'l' or 'b'; 0: detect */
    int bits;   /* of a word, 32 or 64; 0: detect */
    bool salvage;
};

struct gperf_stack {
    uint64_t count, pc;
    uint64_t depth; /* number of PCs, including the callers */
};

/* An executable mapping. */
struct gperf_map {
    uint64_t address, size, offset, inode;
    const char *path; /* "" for none; borrowed until the next call */
};

struct gperf;

/* Reads the header. STREAM is borrowed until gperf_close. Returns NULL with ERR filled. */
struct gperf *gperf_open(struct stream *stream, const struct gperf_options *options,
                         struct error *err);
void gperf_close(struct gperf *gperf);

uint64_t gperf_period(const struct gperf *gperf); /* [us], not 0 */
bool gperf_is_big(const struct gperf *gperf);
int gperf_bits(const struct gperf *gperf);

/* Returns whether the file ended early (and was salvaged). */
bool gperf_is_cut(const struct gperf *gperf);

/* Each returns 1, 0 at the end, or -1. Call gperf_next_map after gperf_next has returned 0. */
int gperf_next(struct gperf *gperf, struct gperf_stack *stack, struct error *err);
int gperf_next_map(struct gperf *gperf, struct gperf_map *map, struct error *err);

#endif
