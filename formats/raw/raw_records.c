/* Full profiles as a run of records, as in most dialects: probing and reading.
 *
 *   [u64 time [us]]  value  u32 threads  threads * { u32 tid  u64 pc  [u64 CPU time [ns]] }
 *
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vectors.h"
#include "formats/pbin/block.h"

enum { MAX_TID = 1 << 22 /* the largest on Linux */ };

static size_t record_fixed(const struct raw_record *record, const struct raw_header *header)
{
    size_t value = record->value_size != 0 ? record->value_size : header->value_size;
    return record->time_size + value + 4;
}

int raw_at_end(struct stream *stream, uint64_t offset, bool salvage, struct error *err)
{
    const uint8_t *data;
    if (offset >= stream_size(stream))
        return offset == stream_size(stream);
    if (stream_seek(stream, offset, err) != 0)
        return -1;
    int64_t have = stream_peek(stream, RAW_SIGNATURE_SIZE, &data, err);
    if (have < 0)
        return -1;
    size_t size = have < RAW_SIGNATURE_SIZE ? (size_t)have : RAW_SIGNATURE_SIZE;
    if (memcmp(data, raw_signature, size) != 0)
        return 0;
    return size == RAW_SIGNATURE_SIZE ? 2 : salvage;
}

/* A walk over records, each of which gives the number of its threads and thus its size. */
struct walk {
    struct stream *stream;
    const struct raw_record *record;
    size_t fixed;
    bool big;
    bool careful; /* salvage without a count of samples: each thread must be plausible */
    uint64_t whole, threads;
    uint64_t end;
};

static bool plausible(const uint8_t *threads, size_t count, const struct walk *walk)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t tid = get_u32(threads + i * walk->record->thread_size, walk->big);
        if (tid == 0 || tid > MAX_TID)
            return false;
    }
    return true;
}

/* Steps over the next record. Returns 1, 0 if there cannot be a record here, 2 if the data ends inside it, -1 on a
 * read error. */
static int step(struct walk *walk, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(walk->stream, walk->fixed, &data, err);
    if (have < 0)
        return -1;
    if ((uint64_t)have < walk->fixed)
        return 2;
    uint32_t count = get_u32(data + walk->fixed - 4, walk->big);
    if (count > RAW_MAX_THREADS)
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

/* Steps over all completely visible records; the next one is left to step. Returns 1, or -1. */
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
        if (count > RAW_MAX_THREADS || (uint64_t)have - at < size)
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
              "%s cut short: %" PRIu64 " of %" PRIu64, what, found, expected);
    return 0;
}

/* Checks the VMMaps after the samples, and the end; sets the verdict. */
static int check_end(struct stream *stream, const struct raw_header *header,
                     struct raw_layout layout, bool salvage, enum raw_verdict *verdict,
                     struct raw_probe *probe, struct error *err)
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
    int at_end = raw_at_end(stream, end, salvage, err);
    if (at_end < 0)
        return -1;
    probe->extension_at = at_end == 2 ? end : 0;
    if (at_end > 0)
        *verdict = RAW_FITS;
    return 0;
}

/* Checks the VMMaps before the samples. Returns 1 if they are valid, 0 with the verdict set, or
 * -1. */
static int check_begin(struct stream *stream, const struct raw_header *header,
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
                        .fixed = record_fixed(&dialect->record, header),
                        .big = layout.big,
                        .careful = salvage && header->samples == 0};
    *verdict = RAW_NO;
    probe->maps_at = probe->records_at = dialect->header_size;
    if (header->magic > dialect->magic_most || walk.fixed > 4096)
        return 0;
    if (!layout.late) {
        int good = check_begin(stream, header, layout, verdict, probe, err);
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
    return state == 1 ? check_end(stream, header, layout, salvage, verdict, probe, err) : 0;
}

/* State between samples. */
struct raw_reader {
    struct raw_batch batch;
    size_t fixed, value_at;
    uint64_t first_us; /* wall time of the first sample */
    uint64_t *times;   /* a block of times from the extension [ns] */
    uint64_t times_first, times_count, times_next_at;
    struct raw_seen seen;
};

static double get_value(const uint8_t *from, enum raw_value type, bool big)
{
    switch (type) {
    case RAW_F64:
        return get_f64(from, big);
    case RAW_F32: {
        uint32_t bits = get_u32(from, big);
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    case RAW_I8:
        return (int8_t)*from;
    case RAW_U8:
        return *from;
    case RAW_I16:
        return (int16_t)get_u16(from, big);
    case RAW_U16:
        return get_u16(from, big);
    case RAW_I32:
        return (int32_t)get_u32(from, big);
    case RAW_U32:
        return get_u32(from, big);
    case RAW_I64:
        return (double)(int64_t)get_u64(from, big);
    case RAW_U64:
        return (double)get_u64(from, big);
    default:
        return 0; /* opaque: not a number */
    }
}

static struct raw_reader *begin(struct raw_profile *p)
{
    const struct raw_record *record = &p->dialect->record;
    struct raw_reader *r = mem_zalloc(1, sizeof *r);
    r->fixed = record_fixed(record, &p->header);
    r->value_at = record->time_size;
    if (p->value == RAW_OPAQUE && p->header.value_size <= PBIN_MAX_OPAQUE) {
        r->batch.opaque_size = p->header.value_size;
        r->batch.opaque = mem_zalloc(RAW_BATCH_SAMPLES, r->batch.opaque_size);
    }
    r->times_next_at = p->ext.time_at;
    r->seen.at = p->ext.seen_at;
    r->seen.count = p->ext.seen_count;
    return r;
}

/* Sets the times of samples that have lost them, beginning with NUMBER, to the time of the last
 * sample that has one. */
static void assume_times(struct raw_profile *p, uint64_t number)
{
    struct raw_reader *r = p->reader;
    r->times_first = number;
    r->times_count = RAW_BATCH_SAMPLES;
    r->times = mem_resize(r->times, r->times_count, sizeof *r->times);
    for (uint64_t i = 0; i < r->times_count; i++)
        r->times[i] = p->ext.last_ns;
}

/* Reads the block of times that contains sample NUMBER, and seeks back to the samples. */
static int load_times(struct raw_profile *p, uint64_t number, struct error *err)
{
    struct raw_reader *r = p->reader;
    struct block block;
    uint64_t back = stream_offset(p->stream);
    if (number >= p->timed) {
        assume_times(p, number);
        return 0;
    }
    if (r->times_next_at == 0 || stream_seek(p->stream, r->times_next_at, err) != 0)
        return -1;
    do
        if (raw_extension_next(p->stream, &block, err) <= 0)
            return error_set(err, stream_name(p->stream), r->times_next_at,
                             "no time for sample %" PRIu64, number);
    while (strcmp(block.type, "time") != 0);
    r->times_next_at = stream_offset(p->stream);
    r->times_first = cursor_u64(&block.in);
    r->times_count = cursor_left(&block.in) / 8;
    if (r->times_first != number || r->times_count == 0)
        return error_set(err, stream_name(p->stream), block.offset,
                         "times begin at sample %" PRIu64 ", expected %" PRIu64, r->times_first,
                         number);
    r->times = mem_resize(r->times, r->times_count, sizeof *r->times);
    const uint8_t *times = cursor_bytes(&block.in, r->times_count * 8);
    for (uint64_t i = 0; i < r->times_count; i++)
        r->times[i] = get_u64(times + 8 * i, false);
    return stream_seek(p->stream, back, err);
}

/* The time of the sample in RECORD [ns] since the first sample; the record has it in us. */
static uint64_t record_time(struct raw_reader *r, const uint8_t *record, bool first, bool big)
{
    uint64_t time_us = get_u64(record, big);
    if (first)
        r->first_us = time_us;
    return time_us > r->first_us ? (time_us - r->first_us) * 1000 : 0;
}

static int lost(struct raw_profile *p, struct error *err)
{
    return error_set(err, stream_name(p->stream), stream_offset(p->stream),
                     "the file changed while it was being read");
}

/* The number of the sample before which decoding stops: the times of all earlier samples are
 * loaded, and the batch has room for them. */
static uint64_t decodable(const struct raw_profile *p)
{
    const struct raw_reader *r = p->reader;
    uint64_t end = p->samples;
    if (p->ext.time_at != 0 && r->times_first + r->times_count < end)
        end = r->times_first + r->times_count;
    return end - p->done < RAW_BATCH_SAMPLES ? end : p->done + RAW_BATCH_SAMPLES;
}

/* Decodes the complete records in the HAVE bytes at DATA, of which there is at least one, into the
 * empty batch until it is full. THREAD_SIZE, BIG and PLAIN are constants where speed matters;
 * PLAIN: the value is an f64, and records have no times. Returns the number of bytes decoded. */
INLINE size_t decode(struct raw_profile *p, const uint8_t *data, size_t have, size_t thread_size,
                     bool big, bool plain)
{
    struct raw_reader *r = p->reader;
    struct raw_batch *b = &r->batch;
    const size_t fixed = r->fixed, samples = (size_t)(decodable(p) - p->done);
    const uint64_t *times =
        p->ext.time_at != 0 ? r->times + (size_t)(p->done - r->times_first) : NULL;
    const uint8_t *at = data, *end = data + have;
    bool timed = times == NULL && !plain && p->dialect->record.time_size != 0;
    size_t i = 0, thread_samples = 0;
    raw_batch_reserve(b, RAW_BATCH_THREAD_SAMPLES);
    for (; i < samples && (size_t)(end - at) >= fixed; i++) {
        size_t count = get_u32(at + fixed - 4, big), size = fixed + count * thread_size;
        if (count > RAW_MAX_THREADS || (size_t)(end - at) < size)
            break;
        if (thread_samples + count > RAW_BATCH_THREAD_SAMPLES) {
            if (i > 0)
                break;
            raw_batch_reserve(b, count);
        }
        raw_get_threads(b->thread_samples + thread_samples, at + fixed, count, thread_size, big);
        b->time_ns[i] = times != NULL ? times[i]
                        : timed       ? record_time(r, at, p->done + i == 0, big)
                                      : 0;
        b->value[i] =
            plain ? get_f64(at + r->value_at, big) : get_value(at + r->value_at, p->value, big);
        if (!plain && b->opaque_size > 0)
            memcpy(b->opaque + i * b->opaque_size, at + r->value_at, b->opaque_size);
        b->threads[i] = (uint32_t)count;
        thread_samples += count;
        at += size;
    }
    b->count = i;
    b->thread_sample_count = thread_samples;
    return (size_t)(at - data);
}

static size_t decode_any(struct raw_profile *p, const uint8_t *data, size_t have)
{
    const struct raw_record *record = &p->dialect->record;
    bool plain = p->value == RAW_F64 && (record->time_size == 0 || p->ext.time_at != 0);
    if (plain && record->thread_size == 20 && !p->layout.big)
        return decode(p, data, have, 20, false, true);
    return decode(p, data, have, record->thread_size, p->layout.big, false);
}

/* Makes the next record completely visible; detection has already checked all of them. Returns the
 * number of visible bytes, or -1. */
static int64_t show_record(struct raw_profile *p, const uint8_t **data, struct error *err)
{
    const struct raw_reader *r = p->reader;
    int64_t have = stream_peek(p->stream, r->fixed, data, err);
    if (have < 0 || (uint64_t)have < r->fixed)
        return have < 0 ? -1 : lost(p, err);
    size_t count = get_u32(*data + r->fixed - 4, p->layout.big);
    size_t size = r->fixed + count * p->dialect->record.thread_size;
    if (count > RAW_MAX_THREADS)
        return lost(p, err);
    if ((uint64_t)have < size && (have = stream_peek(p->stream, size, data, err)) >= 0 &&
        (uint64_t)have < size)
        return lost(p, err);
    return have;
}

int raw_records_next(struct raw_profile *p, struct raw_samples *samples, struct error *err)
{
    const uint8_t *data;
    if (p->done >= p->samples)
        return 0;
    if (p->reader == NULL) {
        p->reader = begin(p);
        if (stream_seek(p->stream, p->records_at, err) != 0)
            return -1;
    }
    struct raw_reader *r = p->reader;
    if (p->ext.time_at != 0 && p->done - r->times_first >= r->times_count &&
        load_times(p, p->done, err) != 0)
        return -1; /* before the peek, because loading times moves the stream */
    int64_t have = show_record(p, &data, err);
    if (have < 0)
        return -1;
    r->batch.count = r->batch.thread_sample_count = 0;
    stream_advance(p->stream, decode_any(p, data, (size_t)have));
    if (p->has_flags && raw_seen_fill(&r->seen, p->stream, &r->batch, err) != 0)
        return -1;
    *samples = raw_batch_samples(&r->batch);
    p->done += samples->count;
    return 1;
}

struct raw_samples raw_batch_samples(const struct raw_batch *b)
{
    return (struct raw_samples){.count = b->count,
                                .thread_sample_count = b->thread_sample_count,
                                .time_ns = b->time_ns,
                                .value = b->value,
                                .threads = b->threads,
                                .opaque = b->opaque_size > 0 ? b->opaque : NULL,
                                .opaque_size = b->opaque_size,
                                .thread_samples = b->thread_samples,
                                .flags = b->flags,
                                .callers = b->has_callers ? b->callers : NULL};
}

void raw_batch_free(struct raw_batch *b)
{
    free(b->thread_samples);
    free(b->flags);
    free(b->callers);
    free(b->opaque);
}

void raw_records_close(struct raw_profile *p)
{
    if (p->reader == NULL)
        return;
    raw_batch_free(&p->reader->batch);
    raw_seen_free(&p->reader->seen);
    free(p->reader->times);
    free(p->reader);
}
