/* gmon.out: the profiles written by programs that are built with -pg, in all dialects.
 *
 *   gnu      "gmon", version 1, then tagged records: histograms, call arcs, basic blocks. glibc and OP-TEE.
 *   bsd      header with version 0x51879, one histogram, untagged arcs. OpenBSD and others.
 *   bsd-old  as bsd, but with a header of 12 or 20 bytes without version and rate.
 *
 * All pointer sizes and byte orders; both are detected without the program.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_GMON_GMON_H
#define FORMATS_GMON_GMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/output.h"
#include "base/stream.h"

enum gmon_dialect { GMON_ANY, GMON_GNU, GMON_BSD, GMON_BSD_OLD, GMON_DIALECTS };

/* The name of DIALECT: "gnu", "bsd" or "bsd-old". */
const char *gmon_dialect_name(enum gmon_dialect dialect);

/* The number of samples in each slice of the text section. Bin I counts program counters in [LOW +
 * I * W, LOW + (I + 1) * W) where W = (HIGH - LOW) / BIN_COUNT, not rounded. */
struct gmon_histogram {
    uint64_t low, high; /* addresses as recorded */
    uint32_t rate;      /* samples per second [Hz]; 0: unknown */
    uint64_t bin_count;
    uint64_t there; /* number of bins present: less than BIN_COUNT only if the file is truncated */
    const uint8_t *bins; /* u16 each, borrowed from the struct gmon */
    uint64_t offset;     /* of the bins in the file [bytes] */
};

/* COUNT calls from the instruction before FROM to the function that contains SELF. */
struct gmon_call {
    uint64_t from, self;
    uint64_t count;
};

struct gmon {
    enum gmon_dialect dialect;
    bool is_64, big_endian;
    bool cut;      /* salvaged: the file ends inside a record */
    char *name;    /* of the file, for errors */
    uint8_t *data; /* the whole file */
    uint64_t size; /* [bytes] */
    struct gmon_histogram *histograms;
    size_t histogram_count, histogram_capacity;
    struct gmon_call *calls;
    size_t call_count, call_capacity;
    uint64_t blocks; /* number of skipped basic-block records */
};

/* Facts that the caller knows; all zero: none. */
struct gmon_options {
    enum gmon_dialect dialect;
    int bits;     /* 32 or 64; 0: detect */
    char order;   /* 'l' or 'b'; 0: detect */
    bool salvage; /* keep the complete records of a truncated file */
};

/* Reads all of STREAM, at most 256 MiB; needs memory for the file and 24 bytes per arc. Returns
 * NULL with ERR filled if it is not a gmon.out, is damaged (with the offset), or is ambiguous
 * because several layouts fit. */
struct gmon *gmon_read(struct stream *stream, const struct gmon_options *options,
                       struct error *err);
void gmon_delete(struct gmon *gmon);

/* The count of bin INDEX, which must be below the member THERE of HISTOGRAM. */
static inline unsigned gmon_bin(const struct gmon *gmon, const struct gmon_histogram *histogram,
                                uint64_t index)
{
    return get_u16(histogram->bins + 2 * index, gmon->big_endian);
}

/* Writes GMON in its own layout; the bins must already be in its byte order. A BSD file must have
 * exactly one histogram. Returns 0, or -1 (error in OUT's struct error). */
int gmon_write(const struct gmon *gmon, struct output *out);

#endif
