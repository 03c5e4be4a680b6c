/* Traces of memory accesses by the sample client memtrace of DynamoRIO, for 64-bit programs, in their binary form:
 * records of 32 bytes, little endian.
 *
 *   u8 write, 7 bytes of padding, u64 address, u64 size [bytes], u64 PC
 *
 *   trace = memtrace_open(stream, salvage, err);
 *   while ((got = memtrace_next(trace, &access, err)) > 0) ...
 *   memtrace_close(trace)
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TRACE_MEMTRACE_H
#define FORMATS_TRACE_MEMTRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stream.h"

enum { MEMTRACE_MAX_SIZE = 1 << 20 }; /* of an access [bytes] */

struct memtrace_access {
    bool is_write;
    uint64_t address, size, pc;
};

struct memtrace;

/* STREAM is borrowed until memtrace_close. SALVAGE: an incomplete record at the end of the file is
 * ignored. Returns NULL with ERR filled if STREAM is empty. */
struct memtrace *memtrace_open(struct stream *stream, bool salvage, struct error *err);
void memtrace_close(struct memtrace *trace);

/* Returns 1 with ACCESS filled, 0 at the end, or -1. */
int memtrace_next(struct memtrace *trace, struct memtrace_access *access, struct error *err);

/* Returns whether the file ended inside a record (and was salvaged). */
bool memtrace_is_cut(const struct memtrace *trace);

#endif
