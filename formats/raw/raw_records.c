/* Full profiles as runs of records: does a dialect fit?
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

#include <inttypes.h>
#include <string.h>

enum { TID_MOST = 1 << 22 /* Linux gives no larger ones */ };

size_t raw_record_fixed(const struct raw_record *record, const struct raw_header *header)
{
    size_t value = record->value_size != 0 ? record->value_size : header->value_size;
    return record->time_size + value + 4;
}

int raw_at_end(struct stream *stream, uint64_t offset, struct error *err)
{
    const uint8_t *data;
    if (offset >= stream_size(stream))
        return offset == stream_size(stream);
    if (stream_seek(stream, offset, err) != 0)
        return -1;
    int64_t have = stream_peek(stream, RAW_SIGNATURE_SIZE, &data, err);
    if (have < 0)
        return -1;
    return have >= RAW_SIGNATURE_SIZE && memcmp(data, raw_signature, RAW_SIGNATURE_SIZE) == 0 ? 2
                                                                                              : 0;
}

/* A walk over records: from one to the next by the number of threads. */
struct walk {
    struct stream *stream;
    const struct raw_record *record;
    size_t fixed;
    bool big;
    bool careful; /* salvage: no count to end at, so that each thread must look like one */
    uint64_t whole, threads;
    uint64_t end;
};

static bool plausible(const uint8_t *threads, size_t count, const struct walk *walk)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t tid = get_u32(threads + i * walk->record->thread_size, walk->big);
        if (tid == 0 || tid > TID_MOST)
            return false;
    }
    return true;
}

/* Steps over the next record. Returns 1, 0 where what stands here cannot be one, 2 where the data ends
 * before it does, -1 on a read error. */
static int step(struct walk *walk, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(walk->stream, walk->fixed, &data, err);
    if (have < 0)
        return -1;
    if ((uint64_t)have < walk->fixed)
        return 2;
    uint32_t count = get_u32(data + walk->fixed - 4, walk->big);
    if (count > RAW_THREADS_MOST)
        return 0;
    size_t size = walk->fixed + (size_t)count * walk->record->thread_size;
    if ((uint64_t)have < size) {
        have = stream_peek(walk->stream, size, &data, err);
        if (have < 0)
            return -1;
    }
    if (walk->careful) {
        size_t visible = ((uint64_t)have < size ? (size_t)have : size) - walk->fixed;
        if (!plausible(data + walk->fixed, visible / walk->record->thread_size, walk))
            return 0;
    }
    if ((uint64_t)have < size)
        return 2;
    stream_advance(walk->stream, size);
    walk->whole++;
    walk->threads += count;
    walk->end += size;
    return 1;
}

/* Steps over all records that are visible as a whole; what it stops at is for step to judge. Returns 1, or -1. */
static int stride(struct walk *walk, uint64_t most, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(walk->stream, 1, &data, err);
    size_t at = 0, size;
    if (have < 0 || walk->careful)
        return have < 0 ? -1 : 1;
    while (walk->whole < most && (uint64_t)have - at >= walk->fixed) {
        uint32_t count = get_u32(data + at + walk->fixed - 4, walk->big);
        size = walk->fixed + (size_t)count * walk->record->thread_size;
        if (count > RAW_THREADS_MOST || (uint64_t)have - at < size)
            break;
        at += size;
        walk->whole++;
        walk->threads += count;
    }
    stream_advance(walk->stream, at);
    walk->end += at;
    return 1;
}

static int walk_records(struct walk *walk, uint64_t at, uint64_t most, struct error *err)
{
    int state = 1;
    walk->end = at;
    if (at > stream_size(walk->stream))
        return 2;
    if (stream_seek(walk->stream, at, err) != 0)
        return -1;
    while (walk->whole < most && state == 1)
        if ((state = stride(walk, most, err)) == 1 && walk->whole < most)
            state = step(walk, err);
    return state;
}

static int cut_short(struct raw_probe *probe, struct stream *stream, const char *what,
                     uint64_t found, uint64_t expected, enum raw_verdict *verdict)
{
    *verdict = RAW_MALFORMED;
    error_set(&probe->error, stream_name(stream), stream_size(stream),
              "%s cut short: the file ends after %" PRIu64 " of %" PRIu64, what, found, expected);
    return 0;
}

/* VMMaps behind the samples, or the end: decides the verdict. */
static int judge_end(struct stream *stream, const struct raw_header *header,
                     struct raw_layout layout, enum raw_verdict *verdict, struct raw_probe *probe,
                     struct error *err)
{
    uint64_t end = probe->records_end;
    if (layout.late) {
        probe->maps_at = end;
        uint64_t room = (stream_size(stream) - end) / RAW_VMMAP_SIZE;
        size_t there = room < header->vmmaps ? (size_t)room : header->vmmaps;
        int good = raw_vmmaps_read(stream, end, there, layout.big, NULL, &probe->odd, err);
        if (good <= 0)
            return good;
        if (there < header->vmmaps)
            return cut_short(probe, stream, "VMMaps", there, header->vmmaps, verdict);
        end += (uint64_t)there * RAW_VMMAP_SIZE;
    }
    int at_end = raw_at_end(stream, end, err);
    if (at_end < 0)
        return -1;
    probe->extension_at = at_end == 2 ? end : 0;
    if (at_end > 0)
        *verdict = RAW_FITS;
    return 0;
}

/* VMMaps in front of the samples. Returns 1 good, 0 verdict is given, -1. */
static int judge_begin(struct stream *stream, const struct raw_header *header,
                       struct raw_layout layout, enum raw_verdict *verdict, struct raw_probe *probe,
                       struct error *err)
{
    uint64_t size = stream_size(stream);
    uint64_t room = size > probe->maps_at ? (size - probe->maps_at) / RAW_VMMAP_SIZE : 0;
    size_t there = room < header->vmmaps ? (size_t)room : header->vmmaps;
    int good = raw_vmmaps_read(stream, probe->maps_at, there, layout.big, NULL, &probe->odd, err);
    if (good == 1 && there < header->vmmaps) {
        if (there > 0 || header->vmmaps < 4096)
            cut_short(probe, stream, "VMMaps", there, header->vmmaps, verdict);
        return 0;
    }
    return good == 1 ? 1 : good < 0 ? -1 : 0;
}

int raw_records_probe(const struct raw_dialect *dialect, struct stream *stream,
                      const struct raw_header *header, struct raw_layout layout, bool salvage,
                      enum raw_verdict *verdict, struct raw_probe *probe, struct error *err)
{
    struct walk walk = {.stream = stream,
                        .record = &dialect->record,
                        .fixed = raw_record_fixed(&dialect->record, header),
                        .big = layout.big,
                        .careful = salvage};
    *verdict = RAW_NO;
    probe->maps_at = probe->records_at = dialect->header_size;
    if (header->magic > dialect->magic_most || walk.fixed > 4096)
        return 0;
    if (!layout.late) {
        int good = judge_begin(stream, header, layout, verdict, probe, err);
        if (good <= 0)
            return good;
        probe->records_at += (uint64_t)header->vmmaps * RAW_VMMAP_SIZE;
    }
    uint64_t wanted = salvage && header->samples == 0 ? UINT64_MAX : header->samples;
    int state = walk_records(&walk, probe->records_at, wanted, err);
    probe->records_end = walk.end;
    probe->samples = walk.whole;
    probe->threads = walk.threads;
    if (state < 0)
        return -1;
    if (state == 2)
        return walk.whole > 0 || !layout.late
                   ? cut_short(probe, stream, "samples", walk.whole, header->samples, verdict)
                   : 0;
    return state == 1 ? judge_end(stream, header, layout, verdict, probe, err) : 0;
}
