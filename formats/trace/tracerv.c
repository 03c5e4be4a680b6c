/* Reads traces of TracerV in one pass.
 * SPDX-License-Identifier: MIT */
#include "formats/trace/tracerv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

enum { RECORD = 64 };
#define VALID   (UINT64_C(1) << 40)
#define ADDRESS (VALID - 1)
/* Addresses with the upper three bits set are in the kernel's half of the address space. */
#define KERNEL UINT64_C(0xe000000000)
#define UPPER  UINT64_C(0xffffffe000000000)

struct tracerv {
    struct stream *stream;
    struct tracerv_options options;
    uint64_t latest, records, disordered;
    bool any, cut;
};

/* Rejects a cycle that no simulation reaches: a file that contains one is not a trace. */
static int check_cycle(const struct stream *stream, uint64_t offset, uint64_t cycle,
                       struct error *err)
{
    if (cycle < TRACERV_MAX_CYCLE)
        return 0;
    return error_set(err, stream_name(stream), offset,
                     "expected a cycle below 2^56, found 0x%" PRIx64, cycle);
}

int64_t tracerv_check(struct stream *stream, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(stream, TRACERV_MAX_LINE, &data, err);
    if (have < 0)
        return -1;
    if (have == 0)
        return stream_fail_empty(stream, "a trace of TracerV", err);
    size_t most = have < TRACERV_MAX_LINE ? (size_t)have : TRACERV_MAX_LINE, length = 0;
    while (length < most && data[length] >= 32 && data[length] < 127)
        length++;
    if (length == most || data[length] != '\n')
        return error_set(err, stream_name(stream), length,
                         "expected a trace of TracerV, which begins with a line of text of at most "
                         "%d bytes; found something else",
                         TRACERV_MAX_LINE);
    if (length > 6 && memcmp(data, "Cycle:", 6) == 0)
        return error_set(err, stream_name(stream), 0,
                         "expected a binary trace, found a text trace (record with "
                         "output_format=1)");
    int64_t more = stream_peek(stream, length + 1 + RECORD, &data, err);
    if (more >= (int64_t)length + 1 + RECORD &&
        check_cycle(stream, length + 1, get_u64(data + length + 1, false), err) != 0)
        return -1;
    return more < 0 ? -1 : (int64_t)length + 1;
}

struct tracerv *tracerv_open(struct stream *stream, const struct tracerv_options *options,
                             struct error *err)
{
    struct tracerv *t = mem_zalloc(1, sizeof *t);
    t->stream = stream;
    t->options = *options;
    int64_t line = tracerv_check(stream, err);
    if (line >= 0) {
        stream_advance(stream, (size_t)line);
        return t;
    }
    tracerv_close(t);
    return NULL;
}

void tracerv_close(struct tracerv *t)
{
    free(t);
}

static void take_instructions(const struct tracerv *t, const uint8_t *data,
                              struct tracerv_cycle *cycle)
{
    cycle->number = get_u64(data, false);
    cycle->count = 0;
    for (size_t i = 1; i <= TRACERV_LANES; i++) {
        const uint64_t word = get_u64(data + 8 * i, false);
        if ((word & VALID) == 0)
            continue;
        uint64_t pc = word & ADDRESS;
        if (!t->options.keep_addresses && (pc & KERNEL) == KERNEL)
            pc |= UPPER;
        cycle->pcs[cycle->count++] = pc;
    }
}

int tracerv_next(struct tracerv *t, struct tracerv_cycle *cycle, struct error *err)
{
    const uint8_t *data;
    for (;;) {
        int64_t have = stream_peek(t->stream, RECORD, &data, err);
        if (have <= 0)
            return (int)have;
        if (have < RECORD) {
            t->cut = t->options.salvage;
            return t->cut ? 0
                          : error_set(err, stream_name(t->stream), stream_offset(t->stream),
                                      "expected a record of %d bytes, found %" PRId64
                                      " at the end: truncated (--salvage keeps the complete part)",
                                      RECORD, have);
        }
        if (check_cycle(t->stream, stream_offset(t->stream), get_u64(data, false), err) != 0)
            return -1;
        take_instructions(t, data, cycle);
        stream_advance(t->stream, RECORD);
        t->records++;
        if (cycle->count == 0)
            continue;
        if (t->any && cycle->number <= t->latest) {
            t->disordered++;
            continue;
        }
        t->any = true;
        t->latest = cycle->number;
        return 1;
    }
}

uint64_t tracerv_records(const struct tracerv *t)
{
    return t->records;
}

uint64_t tracerv_disordered(const struct tracerv *t)
{
    return t->disordered;
}

bool tracerv_is_cut(const struct tracerv *t)
{
    return t->cut;
}
