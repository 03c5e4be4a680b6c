/* Reads perf.data: the header, then records, which it puts in order of time.
 * SPDX-License-Identifier: MIT */
#include "formats/perf/perf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "formats/perf/perf_internal.h"

enum { FILE_HEADER = 104, PIPE_HEADER = 16, RECORD_HEADER = 8, FEATURE_WORDS = 4, SECTION = 16 };
enum { MAX_ATTRIBUTES = 1 << 12, MAX_SECTION = 16 << 20 };
enum {
    RECORD_ATTRIBUTES = 64,
    RECORD_TRACING_DATA = 66,
    RECORD_BUILD_ID = 67,
    RECORD_ROUND = 68,
    RECORD_AUXTRACE = 71,
    RECORD_FEATURE = 80,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
    FIRST_OF_PERF = 64, /* types of records written by perf itself, not by the kernel */
    FEATURE_BUILD_IDS = 2
};

/* ---- the header ---- */

/* Makes SIZE bytes at OFFSET, a WHAT, available in FIELDS. */
static int see(struct perf *p, uint64_t offset, size_t size, const char *what,
               struct perf_fields *fields, struct error *err)
{
    const uint8_t *data;
    if (offset > stream_size(p->stream) || size > stream_size(p->stream) - offset)
        return error_set(err, stream_name(p->stream), offset,
                         "expected %zu bytes of %s, found the end of the file", size, what);
    if (stream_seek(p->stream, offset, err) != 0 || stream_peek(p->stream, size, &data, err) < 0)
        return -1;
    *fields = (struct perf_fields){.at = data, .left = size, .big = p->big};
    return 0;
}

/* Reads the event at OFFSET: its attributes and, after them, the location of its IDs. */
static int read_event(struct perf *p, uint64_t offset, size_t size, struct error *err)
{
    struct perf_fields f;
    size_t event = p->event_count;
    if (see(p, offset, size, "attributes of an event", &f, err) != 0)
        return -1;
    struct perf_fields ids = f, attributes = f;
    perf_skip(&ids, size - SECTION);
    const uint64_t at = perf_u64(&ids), length = perf_u64(&ids);
    attributes.left = size - SECTION;
    if (perf_add_event(p, attributes, offset, err) != 0)
        return -1;
    if (length > MAX_SECTION)
        return error_set(err, stream_name(p->stream), offset + size - SECTION,
                         "expected at most %d bytes of numbers of an event, found %" PRIu64,
                         MAX_SECTION, length);
    if (see(p, at, (size_t)length, "numbers of an event", &f, err) != 0)
        return -1;
    while (f.left >= 8)
        perf_add_id(p, perf_u64(&f), event);
    return 0;
}

static int read_events(struct perf *p, uint64_t size_of_each, uint64_t at, uint64_t size,
                       struct error *err)
{
    if (size_of_each < 48 + SECTION || size_of_each > MAX_ATTRIBUTES || size < size_of_each ||
        size > MAX_SECTION)
        return error_set(err, stream_name(p->stream), 16,
                         "expected a list of events of %d to %d bytes each, found %" PRIu64
                         " bytes, %" PRIu64 " each",
                         48 + SECTION, MAX_ATTRIBUTES, size, size_of_each);
    for (uint64_t i = 0; i < size / size_of_each; i++)
        if (read_event(p, at + i * size_of_each, (size_t)size_of_each, err) != 0)
            return -1;
    return 0;
}

/* Reads a list of records: header, process, build-id, path. */
static void take_build_ids(struct perf *p, struct perf_fields f)
{
    while (f.left >= RECORD_HEADER) {
        struct perf_fields head = f;
        perf_u32(&head);
        uint16_t misc = get_u16(head.at, f.big), size = get_u16(head.at + 2, f.big);
        if (size < RECORD_HEADER || size > f.left)
            return;
        struct perf_fields one = f;
        one.left = size;
        perf_skip(&one, RECORD_HEADER);
        perf_take_build_id(p, misc, one);
        perf_skip(&f, size);
    }
}

/* Reads the features. They follow the records, and begin with a list of their locations. They are
 * not part of the profile, so damage to them is not an error. */
static int read_features(struct perf *p, const uint64_t *words, struct error *err)
{
    uint64_t at = p->data_end;
    for (unsigned i = 0; i < FEATURE_WORDS * 64; i++) {
        struct perf_fields f;
        if ((words[i / 64] >> i % 64 & 1) == 0)
            continue;
        if (at + SECTION > stream_size(p->stream))
            return 0;
        if (see(p, at, SECTION, "features", &f, err) != 0)
            return -1;
        const uint64_t from = perf_u64(&f), size = perf_u64(&f);
        at += SECTION;
        if (size > MAX_SECTION || from > stream_size(p->stream) ||
            size > stream_size(p->stream) - from)
            continue;
        if (see(p, from, (size_t)size, "a feature", &f, err) != 0)
            return -1;
        if (i == FEATURE_BUILD_IDS)
            take_build_ids(p, f);
        else
            perf_take_feature(p, i, f);
    }
    return 0;
}

/* An unfinished recording does not contain the size of its records, and has no features. */
static int find_data(struct perf *p, uint64_t at, uint64_t size, struct error *err)
{
    const uint64_t whole = stream_size(p->stream);
    p->data_at = at;
    p->data_end = at + size;
    if (size != 0 && at <= whole && size <= whole - at)
        return 0;
    if (!p->salvage || at > whole)
        return error_set(err, stream_name(p->stream), 40,
                         size == 0 ? "the recording was not finished: perf record was killed "
                                     "(--salvage keeps the complete part)"
                                   : "expected %" PRIu64 " bytes of records, found %" PRIu64
                                     ": truncated (--salvage keeps the complete part)",
                         size, at > whole ? 0 : whole - at);
    p->data_end = whole;
    p->cut = true;
    return 0;
}

static int read_file_header(struct perf *p, struct error *err)
{
    struct perf_fields f;
    uint64_t words[FEATURE_WORDS];
    if (see(p, 0, FILE_HEADER, "the header of perf.data", &f, err) != 0)
        return -1;
    perf_skip(&f, 16);
    const uint64_t each = perf_u64(&f), events_at = perf_u64(&f), events_size = perf_u64(&f);
    const uint64_t data_at = perf_u64(&f), data_size = perf_u64(&f);
    perf_skip(&f, SECTION);
    for (size_t i = 0; i < FEATURE_WORDS; i++)
        words[i] = perf_u64(&f);
    if (find_data(p, data_at, data_size, err) != 0 ||
        read_events(p, each, events_at, events_size, err) != 0)
        return -1;
    return p->cut ? 0 : read_features(p, words, err);
}

static int read_header(struct perf *p, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(p->stream, PIPE_HEADER, &data, err);
    if (have < 0)
        return -1;
    if (have == 0)
        return stream_fail_empty(p->stream, "a recording of perf", err);
    bool little = have >= 8 && memcmp(data, "PERFILE2", 8) == 0;
    p->big = have >= 8 && memcmp(data, "2ELIFREP", 8) == 0;
    if (!little && !p->big)
        return error_set(err, stream_name(p->stream), 0,
                         "expected a recording of perf record, which begins with PERFILE2; found "
                         "something else");
    uint64_t size = have >= PIPE_HEADER ? get_u64(data + 8, p->big) : 0;
    if (stream_make_seekable(p->stream, err) != 0)
        return -1;
    if (size == FILE_HEADER)
        return read_file_header(p, err);
    if (size != PIPE_HEADER)
        return error_set(err, stream_name(p->stream), 8,
                         "expected a header of %d or %d bytes, found %" PRIu64, FILE_HEADER,
                         PIPE_HEADER, size);
    p->is_pipe = true;
    p->data_at = PIPE_HEADER;
    p->data_end = stream_size(p->stream);
    return 0;
}

struct perf *perf_open(struct stream *stream, bool salvage, struct error *err)
{
    struct perf *p = mem_zalloc(1, sizeof *p);
    p->stream = stream;
    p->salvage = salvage;
    p->texts = strings_new();
    if (read_header(p, err) == 0 && perf_rewind(p, err) == 0)
        return p;
    perf_close(p);
    return NULL;
}

void perf_close(struct perf *p)
{
    if (p == NULL)
        return;
    strings_delete(p->texts);
    numbers_free(&p->ids);
    numbers_free(&p->paths);
    free(p->events);
    free(p->layouts);
    free(p->event_of);
    free(p->build_ids);
    free(p->heap);
    free(p);
}

int perf_rewind(struct perf *p, struct error *err)
{
    p->heap_count = 0;
    p->number = p->latest = p->settled = p->ready = 0;
    p->described = p->event_count > 0;
    p->ended = false;
    return stream_seek(p->stream, p->data_at, err);
}

/* ---- records ---- */

/* In an unfinished recording, the records end at the first damaged one. */
static int end_early(struct perf *p)
{
    p->cut = true;
    return 0;
}

/* Reads the next record of the file. Returns 1, 0 at the end, or -1. RAW is borrowed until the next
 * call. */
static int next_raw(struct perf *p, struct perf_raw *raw, struct error *err)
{
    const uint8_t *data;
    const uint64_t at = stream_offset(p->stream), left = at < p->data_end ? p->data_end - at : 0;
    if (left == 0)
        return 0;
    int64_t have = left < RECORD_HEADER ? 0 : stream_peek(p->stream, RECORD_HEADER, &data, err);
    if (have < 0)
        return -1;
    if (have < RECORD_HEADER)
        return p->salvage ? end_early(p)
                          : error_set(err, stream_name(p->stream), at,
                                      "expected a record of perf, found %" PRIu64
                                      " bytes at the end: truncated",
                                      left);
    *raw = (struct perf_raw){
        .type = get_u32(data, p->big), .misc = get_u16(data + 4, p->big), .offset = at};
    const uint16_t size = get_u16(data + 6, p->big);
    if (size < RECORD_HEADER || size > left)
        return p->salvage ? end_early(p)
                          : error_set(err, stream_name(p->stream), at,
                                      "expected a record of %d to %" PRIu64
                                      " bytes, found one of %u (type %" PRIu32 ")",
                                      RECORD_HEADER, left, size, raw->type);
    if (stream_peek(p->stream, size, &data, err) < 0)
        return -1;
    raw->body = (struct perf_fields){
        .at = data + RECORD_HEADER, .left = (size_t)size - RECORD_HEADER, .big = p->big};
    stream_advance(p->stream, size);
    return 1;
}

/* Reads the description of an event in a pipe: its attributes, then its IDs. */
static int take_attributes(struct perf *p, const struct perf_raw *raw, struct error *err)
{
    struct perf_fields f = raw->body;
    perf_u32(&f);
    uint32_t size = perf_u32(&f);
    struct perf_fields attributes = raw->body, ids = raw->body;
    perf_skip(&ids, size);
    if (f.bad || ids.bad)
        return perf_fail_short(p, raw, "description of an event", err);
    attributes.left = size;
    size_t event = p->event_count;
    if (perf_add_event(p, attributes, raw->offset, err) != 0)
        return -1;
    while (ids.left >= 8)
        perf_add_id(p, perf_u64(&ids), event);
    return 0;
}

/* Skips data that follows a record and is not included in its size. */
static int skip_trailing(struct perf *p, const struct perf_raw *raw, struct error *err)
{
    struct perf_fields f = raw->body;
    uint64_t size =
        raw->type == RECORD_AUXTRACE ? perf_u64(&f) : ((uint64_t)perf_u32(&f) + 7) / 8 * 8;
    if (f.bad || size > p->data_end - stream_offset(p->stream))
        return perf_fail_short(p, raw, "piece of data", err);
    return stream_skip(p->stream, size, err);
}

/* Handles records in which perf describes the recording. */
static int take_own(struct perf *p, const struct perf_raw *raw, struct error *err)
{
    struct perf_fields f = raw->body;
    switch (raw->type) {
    case RECORD_ATTRIBUTES:
        return p->described ? 0 : take_attributes(p, raw, err);
    case RECORD_BUILD_ID:
        perf_take_build_id(p, raw->misc, f);
        return 0;
    case RECORD_FEATURE: {
        uint64_t number = perf_u64(&f);
        if (!f.bad && number < (uint64_t)FEATURE_WORDS * 64)
            perf_take_feature(p, (unsigned)number, f);
        return 0;
    }
    case RECORD_TRACING_DATA:
    case RECORD_AUXTRACE:
        return skip_trailing(p, raw, err);
    case RECORD_COMPRESSED:
    case RECORD_COMPRESSED2:
        return error_set(err, stream_name(p->stream), raw->offset,
                         "expected plain records, found compressed ones: record without -z");
    default:
        return 0;
    }
}

/* ---- order ---- */

static bool is_before(const struct perf_waiting *a, const struct perf_waiting *b)
{
    return a->record.time != b->record.time ? a->record.time < b->record.time
                                            : a->number < b->number;
}

static void push(struct perf *p, const struct perf_record *record)
{
    const struct perf_waiting new = {*record, p->number++};
    mem_reserve(&p->heap, &p->heap_capacity, p->heap_count + 1, sizeof *p->heap);
    size_t at = p->heap_count++;
    for (; at > 0 && is_before(&new, &p->heap[(at - 1) / 2]); at = (at - 1) / 2)
        p->heap[at] = p->heap[(at - 1) / 2];
    p->heap[at] = new;
    if (record->time > p->latest)
        p->latest = record->time;
}

static void pop(struct perf *p, struct perf_record *record)
{
    *record = p->heap[0].record;
    const struct perf_waiting last = p->heap[--p->heap_count];
    size_t at = 0;
    for (size_t child = 1; child < p->heap_count; child = 2 * at + 1) {
        if (child + 1 < p->heap_count && is_before(&p->heap[child + 1], &p->heap[child]))
            child++;
        if (!is_before(&p->heap[child], &last))
            break;
        p->heap[at] = p->heap[child];
        at = child;
    }
    p->heap[at] = last;
}

/* Reads a record. At the end of a round, all records up to the latest time of the previous round
 * have been read. */
static int read_one(struct perf *p, struct error *err)
{
    struct perf_raw raw;
    struct perf_record record;
    int got = next_raw(p, &raw, err);
    if (got < 0)
        return -1;
    if (got == 0) {
        p->ended = true;
        return 0;
    }
    if (raw.type == RECORD_ROUND) {
        p->ready = p->settled;
        p->settled = p->latest;
        return 0;
    }
    if (raw.type >= FIRST_OF_PERF)
        return take_own(p, &raw, err);
    if (p->event_count == 0)
        return error_set(err, stream_name(p->stream), raw.offset,
                         "expected the description of an event, found a record (type %" PRIu32 ")",
                         raw.type);
    got = perf_decode(p, &raw, &record, err);
    record.offset = raw.offset;
    if (got > 0)
        push(p, &record);
    return got < 0 ? -1 : 0;
}

int perf_next(struct perf *p, struct perf_record *record, struct error *err)
{
    while (!p->ended && (p->heap_count == 0 || p->heap[0].record.time > p->ready))
        if (read_one(p, err) != 0)
            return -1;
    if (p->heap_count == 0)
        return 0;
    pop(p, record);
    return 1;
}

const struct perf_event *perf_events(const struct perf *p, size_t *count)
{
    *count = p->event_count;
    return p->events;
}

struct perf_facts perf_facts(const struct perf *p)
{
    return p->facts;
}

bool perf_is_cut(const struct perf *p)
{
    return p->cut;
}
