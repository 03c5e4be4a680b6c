/* A block of samples, unpacked to columns.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_SAMPLES_H
#define FORMATS_PBIN_PBIN_SAMPLES_H

#include "base/buffer.h"
#include "formats/pbin/pbin.h"
#include "formats/pbin/pbin_column.h"

/* Zeroed it is empty; sample_columns_free releases the columns. */
struct sample_columns {
    struct pbin_samples samples;         /* what was read last; borrowed from the columns below */
    uint64_t thread_most, location_most; /* the greatest numbers in it, 0 of none */
    struct column interval, value, threads, thread, location, cpu;
};

/* Reads the payload of a SMPL block; whether its threads and locations are defined is for the caller to check. Returns
 * NULL, or what is wrong with it. At least 8 bytes must be readable behind the payload. */
const char *sample_columns_read(struct sample_columns *columns, struct cursor *in);

void sample_columns_free(struct sample_columns *columns);

#endif
