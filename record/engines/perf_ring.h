/* Reads the ring buffers into which the kernel writes records, one for each CPU, as one stream in
 * order of time.
 *
 *   perf_rings_read(rings, clock_now(), NULL, NULL); reads new records
 *   while ((record = perf_rings_next(rings, until)) != NULL) ...
 *
 * One CPU may still be writing a record while a later record of another CPU can already be read;
 * therefore UNTIL must be slightly in the past.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_RING_H
#define RECORD_ENGINES_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_header;

struct perf_record {
    uint64_t time;  /* CLOCK_MONOTONIC [ns] */
    uint64_t order; /* order of arrival */
    size_t at;      /* offset in the bytes that were read */
    uint32_t ring;
    bool known;   /* set by the reader: LOOK has decided whether the sample counts; ... */
    double span;  /* ... the result of perf_set_sampled */
    uint64_t cpu; /* set by the reader: CPU time of a thread that called exec [ns] */
};

struct perf_rings;

/* Maps a ring for each of the COUNT file descriptors. OFFSET [ns] is added to the times of the
 * kernel, which are not those of the time namespace of this process. Returns NULL with errno set;
 * otherwise, the caller calls perf_rings_delete. */
struct perf_rings *perf_rings_new(const int *fds, size_t count, int64_t offset);
void perf_rings_delete(struct perf_rings *rings); /* NULL is allowed */

/* Reads the rings at NOW, the present time [CLOCK_MONOTONIC]. LOOK, if not NULL, is called for each
 * new sample, end or name of a thread, in order of time: without waiting for UNTIL, so that an
 * earlier record may still follow. */
void perf_rings_read(struct perf_rings *rings, uint64_t now,
                     void (*look)(void *context, struct perf_record *record,
                                  const struct perf_event_header *header),
                     void *context);

/* Returns the next record in order of time that is not later than UNTIL, or NULL. Sets *HEADER to
 * the bytes of the record, borrowed until the next perf_rings_read. */
const struct perf_record *perf_rings_next(struct perf_rings *rings, uint64_t until,
                                          const struct perf_event_header **header);

/* The same without a time limit, and without consuming the record. */
const struct perf_record *perf_rings_peek(struct perf_rings *rings,
                                          const struct perf_event_header **header);

/* Returns the time before which all records have been read [CLOCK_MONOTONIC]; later records may be
 * missing because the kernel has not signalled them. UINT64_MAX, the usual case: no records are
 * missing. */
uint64_t perf_rings_known(const struct perf_rings *rings);

/* Returns how often records were lost because two CPUs had written them to the same place. */
uint64_t perf_rings_torn(const struct perf_rings *rings);

/* Returns whether some records have not been consumed yet. */
bool perf_rings_left(const struct perf_rings *rings);

#endif
