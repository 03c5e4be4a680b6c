/* gmon.out: the profiles that programs built with -pg write of themselves, in all dialects.
 *
 *   gnu      "gmon", version 1, then tagged records: histograms, call arcs, basic blocks. glibc and OP-TEE.
 *   bsd      header with version 0x51879, one histogram, untagged arcs. OpenBSD and others.
 *   bsd-old  the same with a header of 12 or 20 bytes, which has neither version nor rate.
 *
 * Any pointer size and byte order; both are detected without the program.
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

/* "gnu", "bsd", "bsd-old". */
const char *gmon_dialect_name(enum gmon_dialect dialect);

/* Samples per slice of text. Bin I counts program counters in [LOW + I * W, LOW + (I + 1) * W)
 * where W = (HIGH - LOW) / BIN_COUNT, a real number. */
struct gmon_histogram {
    uint64_t low, high; /* addresses as recorded */
    uint32_t rate;      /* samples per second [Hz]; 0: not known */
    uint64_t bin_count;
    uint64_t there;      /* bins that are in the file: fewer than BIN_COUNT only when it was cut */
    const uint8_t *bins; /* u16 each, borrowed from the struct gmon */
    uint64_t offset;     /* of the bins in the file [bytes] */
};

/* COUNT calls from the instruction before FROM to the function that holds SELF. */
struct gmon_call {
    uint64_t from, self;
    uint64_t count;
};

struct gmon {
    enum gmon_dialect dialect;
    bool is_64, big_endian;
    bool cut;      /* --salvage: the file ended in the middle of something */
    char *name;    /* of the file, for messages */
    uint8_t *data; /* all of it */
    uint64_t size; /* [bytes] */
    struct gmon_histogram *histograms;
    size_t histogram_count, histogram_capacity;
    struct gmon_call *calls;
    size_t call_count, call_capacity;
    uint64_t blocks; /* basic-block records that were skipped */
};

/* What the caller knows already; zeroed: nothing. */
struct gmon_options {
    enum gmon_dialect dialect;
    int bits;     /* 32 or 64, 0: seen from the file */
    char order;   /* 'l' or 'b', 0: seen from the file */
    bool salvage; /* keep what is there of a file that is cut short */
};

/* Reads all of STREAM, at most 256 MiB; memory is that of the file plus 24 bytes an arc. Returns
 * NULL with ERR filled: not a gmon.out, or one that is damaged (with the offset), or one that
 * several layouts fit. */
struct gmon *gmon_read(struct stream *stream, const struct gmon_options *options,
                       struct error *err);
void gmon_delete(struct gmon *gmon);

/* The count of bin INDEX < there. */
static inline unsigned gmon_bin(const struct gmon *gmon, const struct gmon_histogram *histogram,
                                uint64_t index)
{
    return get_u16(histogram->bins + 2 * index, gmon->big_endian);
}

/* Writes a file in layout and content of GMON; bins as they are in memory, so in its byte order. A
 * BSD file has one histogram exactly. Returns 0, or -1 (error in OUT's struct error). */
int gmon_write(const struct gmon *gmon, struct output *out);

#endif
