/* Reads traces of memory accesses in one pass.
 * SPDX-License-Identifier: MIT */
#include "formats/trace/memtrace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/memory.h"

enum { RECORD = 32 };

struct memtrace {
    struct stream *stream;
    bool salvage, cut;
};

struct memtrace *memtrace_open(struct stream *stream, bool salvage, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(stream, 1, &data, err);
    if (have == 0)
        stream_fail_empty(stream, "a trace of memory accesses", err);
    if (have <= 0)
        return NULL;
    struct memtrace *t = mem_zalloc(1, sizeof *t);
    t->stream = stream;
    t->salvage = salvage;
    return t;
}

void memtrace_close(struct memtrace *t)
{
    free(t);
}

int memtrace_next(struct memtrace *t, struct memtrace_access *access, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(t->stream, RECORD, &data, err);
    if (have <= 0)
        return (int)have;
    if (have < RECORD) {
        t->cut = t->salvage;
        return t->cut ? 0
                      : error_set(err, stream_name(t->stream), stream_offset(t->stream),
                                  "expected an access of %d bytes, found %" PRId64
                                  " at the end: truncated (--salvage keeps the complete part)",
                                  RECORD, have);
    }
    *access = (struct memtrace_access){.is_write = data[0] != 0,
                                       .address = get_u64(data + 8, false),
                                       .size = get_u64(data + 16, false),
                                       .pc = get_u64(data + 24, false)};
    if (data[0] > 1 || access->size > MEMTRACE_MAX_SIZE)
        return error_set(
            err, stream_name(t->stream), stream_offset(t->stream),
            "expected an access, which begins with 0 (read) or 1 (write) and has a size "
            "of at most %d bytes, found %u and %" PRIu64,
            MEMTRACE_MAX_SIZE, data[0], access->size);
    stream_advance(t->stream, RECORD);
    return 1;
}

bool memtrace_is_cut(const struct memtrace *t)
{
    return t->cut;
}
