/* A block of samples, unpacked into columns.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_SAMPLES_H
#define FORMATS_PBIN_PBIN_SAMPLES_H

#include "base/buffer.h"
#include "formats/pbin/pbin.h"
#include "formats/pbin/pbin_column.h"

enum { MAX_BATCH_SAMPLES = 65536, MAX_BATCH_THREAD_SAMPLES = 1 << 20 };

/* Empty when zeroed; sample_columns_free releases the columns. */
struct sample_columns {
    struct pbin_samples samples; /* the block read last; borrowed from the columns below */
    struct column interval, value, threads, thread, location, cpu;
};

/* Reads the payload of a SMPL block, whose threads and locations must be defined in ALL. Returns
 * NULL, or a text that describes the error. At least 8 bytes must be readable after the payload. */
const char *sample_columns_read(struct sample_columns *columns, const struct pbin_definitions *all,
                                struct cursor *in);

void sample_columns_free(struct sample_columns *columns);

#endif
