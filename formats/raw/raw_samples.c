/* The samples of full profiles that are runs of records.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/pbin/block.h"

/* What the reading of records remembers between samples. */
struct raw_reader {
    struct raw_batch batch;
    size_t fixed, value_at;
    uint64_t first_us; /* wall time of the first sample */
    uint64_t *times;   /* of the extension: a block of them [ns] */
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
        return 0; /* opaque: no number */
    }
}

static struct raw_reader *begin(struct raw_profile *p)
{
    const struct raw_record *record = &p->dialect->record;
    struct raw_reader *r = mem_zalloc(1, sizeof *r);
    r->fixed = raw_record_fixed(record, &p->header);
    r->value_at = record->time_size;
    r->times_next_at = p->ext.time_at;
    r->seen.at = p->ext.seen_at;
    return r;
}

/* Reads the block of times that sample NUMBER is in, and comes back to where the samples are. */
static int load_times(struct raw_profile *p, uint64_t number, struct error *err)
{
    struct raw_reader *r = p->reader;
    struct block block;
    uint64_t back = stream_offset(p->stream);
    if (r->times_next_at == 0 || stream_seek(p->stream, r->times_next_at, err) != 0)
        return -1;
    do
        if (block_next(p->stream, &block, err) <= 0)
            return error_set(err, stream_name(p->stream), r->times_next_at,
                             "no time for sample %" PRIu64, number);
    while (strcmp(block.type, "time") != 0);
    r->times_next_at = stream_offset(p->stream);
    r->times_first = cursor_u64(&block.in);
    r->times_count = cursor_left(&block.in) / 8;
    if (r->times_first != number || r->times_count == 0)
        return error_set(err, stream_name(p->stream), block.offset,
                         "times of samples from %" PRIu64 " on, expected %" PRIu64, r->times_first,
                         number);
    r->times = mem_resize(r->times, r->times_count, sizeof *r->times);
    for (uint64_t i = 0; i < r->times_count; i++)
        r->times[i] = cursor_u64(&block.in);
    return stream_seek(p->stream, back, err);
}

/* Of sample NUMBER. The extension's time counts before the record's: it is exact. */
static inline uint64_t sample_time(struct raw_profile *p, const uint8_t *record, uint64_t number,
                                   bool big)
{
    struct raw_reader *r = p->reader;
    if (p->ext.time_at != 0)
        return r->times[number - r->times_first];
    if (p->dialect->record.time_size == 0)
        return 0;
    uint64_t time_us = get_u64(record, big);
    if (number == 0)
        r->first_us = time_us;
    return time_us > r->first_us ? (time_us - r->first_us) * 1000 : 0;
}

static int lost(struct raw_profile *p, struct error *err)
{
    return error_set(err, stream_name(p->stream), stream_offset(p->stream),
                     "the file has changed while it was read");
}

/* Decodes what is visible as a whole of the HAVE bytes at DATA, the first record at least, as far as times are loaded and
 * the batch has room. Returns the bytes that it took. */
static inline __attribute__((always_inline)) size_t
decode(struct raw_profile *p, const uint8_t *data, size_t have, bool big)
{
    struct raw_reader *r = p->reader;
    size_t thread_size = p->dialect->record.thread_size, at = 0;
    uint64_t end = p->samples;
    if (p->ext.time_at != 0 && r->times_first + r->times_count < end)
        end = r->times_first + r->times_count;
    for (uint64_t number = p->done; number < end && have - at >= r->fixed; number++) {
        const uint8_t *record = data + at;
        size_t count = get_u32(record + r->fixed - 4, big), size = r->fixed + count * thread_size;
        if (count > RAW_THREADS_MOST || have - at < size || !raw_batch_has_room(&r->batch, count))
            break;
        double value = p->value == RAW_F64 ? get_f64(record + r->value_at, big)
                                           : get_value(record + r->value_at, p->value, big);
        raw_batch_put(&r->batch, sample_time(p, record, number, big), value, record + r->fixed,
                      count, thread_size, big);
        at += size;
    }
    return at;
}

/* Makes the next record visible as a whole: there were all, when the dialect was found. Returns how much is, or -1. */
static int64_t show_record(struct raw_profile *p, const uint8_t **data, struct error *err)
{
    const struct raw_reader *r = p->reader;
    int64_t have = stream_peek(p->stream, r->fixed, data, err);
    if (have < 0 || (uint64_t)have < r->fixed)
        return have < 0 ? -1 : lost(p, err);
    size_t count = get_u32(*data + r->fixed - 4, p->layout.big);
    size_t size = r->fixed + count * p->dialect->record.thread_size;
    if (count > RAW_THREADS_MOST)
        return lost(p, err);
    if ((uint64_t)have < size && (have = stream_peek(p->stream, size, data, err)) >= 0 &&
        (uint64_t)have < size)
        return lost(p, err);
    return have;
}

int raw_samples_next(struct raw_profile *p, struct raw_samples *samples, struct error *err)
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
        return -1; /* before the peek: it moves the stream */
    int64_t have = show_record(p, &data, err);
    if (have < 0)
        return -1;
    r->batch.count = r->batch.entry_count = 0;
    stream_advance(p->stream, p->layout.big ? decode(p, data, (size_t)have, true)
                                            : decode(p, data, (size_t)have, false));
    if (p->has_flags && raw_seen_fill(&r->seen, p->stream, &r->batch, err) != 0)
        return -1;
    *samples = raw_batch_samples(&r->batch);
    p->done += samples->count;
    return 1;
}

bool raw_batch_has_room(const struct raw_batch *b, size_t count)
{
    return b->count == 0 ||
           (b->count < RAW_BATCH_SAMPLES && b->entry_count + count <= RAW_BATCH_ENTRIES);
}

struct raw_samples raw_batch_samples(const struct raw_batch *b)
{
    return (struct raw_samples){
        b->count,   b->entry_count, b->time_ns, b->value,
        b->threads, b->entries,     b->flags,   b->has_callers ? b->callers : NULL};
}

void raw_batch_free(struct raw_batch *b)
{
    free(b->entries);
    free(b->flags);
    free(b->callers);
}

void raw_samples_close(struct raw_profile *p)
{
    if (p->reader == NULL)
        return;
    raw_batch_free(&p->reader->batch);
    raw_seen_free(&p->reader->seen);
    free(p->reader->times);
    free(p->reader);
}
