/* The unfinished file of our own sampler: a header of zeros, and everything else in blocks, so that a killed
 * run loses at most the last one.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "formats/pbin/block.h"
#include "formats/raw/raw_readings.h"

enum { FIXED = 8 + 8 + 4, THREAD = 20 }; /* u64 time [ns], f64 value, u32 threads; per thread */

const char raw_spool_unfinished[] =
    "unfinished profile of a killed sampler: --salvage keeps its samples";

static bool is_zero(const struct raw_header *h)
{
    return h->magic == 0 && h->wall_us == 0 && h->latency_us == 0 && h->samples == 0 &&
           h->vmmaps == 0;
}

static int probe_spool(const struct raw_dialect *dialect, struct stream *stream,
                       const struct raw_header *header, struct raw_layout layout, bool salvage,
                       enum raw_verdict *verdict, struct raw_probe *probe, struct error *err)
{
    *verdict = RAW_NO;
    if (!is_zero(header) || layout.big || layout.late)
        return 0;
    int state = raw_at_end(stream, dialect->header_size, false, err);
    if (state != 2)
        return state < 0 ? -1 : 0;
    probe->extension_at = probe->records_at = dialect->header_size;
    *verdict = salvage ? RAW_FITS : RAW_MALFORMED;
    error_set(&probe->error, stream_name(stream), dialect->header_size, "%s", raw_spool_unfinished);
    return 0;
}

struct raw_reader {
    struct buffer rows; /* of the open block */
    struct cursor in;
    uint32_t left;
    struct raw_batch batch;
    struct raw_seen seen;
    struct raw_readings *readings; /* give the values; NULL: the rows do */
    struct raw_reading_walk walk;
    uint64_t last_ns;
};

/* Reads the next block. Returns 1; 0 at the end or at damage, because spools are only salvaged; -1
 * if reading fails. */
static int next_whole_block(struct stream *stream, struct block *block, struct error *err)
{
    struct error damage = {0};
    int got = block_next(stream, block, &damage);
    if (got < 0 && damage.of_system)
        return error_pass(err, &damage);
    return got > 0;
}

/* Opens the flags that must follow the rows. Returns 1; 0 if there are none, which is the end; -1
 * if reading fails. */
static int open_seen(struct raw_profile *p, struct error *err)
{
    struct block block;
    int got = next_whole_block(p->stream, &block, err);
    if (got <= 0)
        return got;
    return strcmp(block.type, "seen") == 0 && raw_seen_open(&p->reader->seen, &block.in) == 0;
}

/* Opens the next block of rows. Returns 1, 0 at the end, -1 if reading fails. */
static int open_rows(struct raw_profile *p, struct error *err)
{
    struct raw_reader *r = p->reader;
    struct block block;
    int got;
    while ((got = next_whole_block(p->stream, &block, err)) > 0) {
        if (strcmp(block.type, "rows") != 0)
            continue;
        r->left = cursor_u32(&block.in);
        r->rows.size = 0;
        size_t size = cursor_left(&block.in);
        buffer_bytes(&r->rows, cursor_bytes(&block.in, size), size);
        r->in = (struct cursor){.data = r->rows.data, .size = size};
        if (p->has_flags && (got = open_seen(p, err)) <= 0)
            break;
        if (r->left > 0)
            return 1;
    }
    return got;
}

/* Computes the value of the sample at TIME_NS from the readings, if there are any. Returns 0, or
 * -1. */
static int find_value(struct raw_profile *p, uint64_t time_ns, double *value, struct error *err)
{
    struct raw_reader *r = p->reader;
    if (r->readings == NULL)
        return 0;
    struct raw_reading reading;
    int got = 1; /* readings that do not fit the earlier ones are left out */
    while (raw_readings_until(r->readings) < time_ns &&
           (got = raw_reading_next(&r->walk, &reading, err)) > 0)
        raw_readings_add(r->readings, &reading);
    if (got < 0)
        return -1;
    if (time_ns < r->last_ns)
        time_ns = r->last_ns;
    *value = raw_readings_value(r->readings, r->last_ns, time_ns);
    raw_readings_forget(r->readings, r->last_ns);
    r->last_ns = time_ns;
    return 0;
}

static int begin(struct raw_profile *p, struct error *err)
{
    struct raw_reader *r = p->reader = mem_zalloc(1, sizeof *r);
    r->seen.count = UINT64_MAX;
    r->walk = raw_reading_walk_begin(p->stream, &p->ext);
    if (p->ext.read_at != 0)
        r->readings = raw_readings_new(p->ext.sources, p->ext.source_count);
    return stream_seek(p->stream, p->ext.rows_at, err);
}

static int next(struct raw_profile *p, struct raw_samples *samples, struct error *err)
{
    if (p->ext.rows_at == 0 || p->done >= p->samples)
        return 0;
    if (p->reader == NULL && begin(p, err) != 0)
        return -1;
    struct raw_reader *r = p->reader;
    if (r->left == 0) {
        int got = open_rows(p, err);
        if (got <= 0)
            return got;
    }
    uint64_t at = stream_offset(p->stream);
    uint64_t time_ns = cursor_u64(&r->in);
    double value = cursor_f64(&r->in);
    uint32_t count = cursor_u32(&r->in);
    const uint8_t *threads = cursor_bytes(&r->in, (size_t)count * THREAD);
    if (threads == NULL || count > RAW_MAX_THREADS)
        return error_set(err, stream_name(p->stream), at,
                         "block 'rows': sample %" PRIu64 " is cut short", p->done);
    if (find_value(p, time_ns, &value, err) != 0)
        return -1;
    r->batch.count = r->batch.thread_sample_count = 0;
    raw_batch_put(&r->batch, time_ns, value, threads, count, THREAD, false);
    if (p->has_flags && cursor_left(&r->seen.flags) < count)
        return error_set(err, stream_name(p->stream), at,
                         "block 'seen': fewer flags than threads of sample %" PRIu64, p->done);
    if (p->has_flags && raw_seen_fill(&r->seen, p->stream, &r->batch, err) != 0)
        return -1;
    *samples = raw_batch_samples(&r->batch);
    r->left--;
    p->done++;
    return 1;
}

static void close_spool(struct raw_profile *p)
{
    if (p->reader == NULL)
        return;
    buffer_free(&p->reader->rows);
    raw_batch_free(&p->reader->batch);
    raw_seen_free(&p->reader->seen);
    raw_readings_delete(p->reader->readings);
    raw_reading_walk_end(&p->reader->walk);
    free(p->reader);
}

const struct raw_dialect raw_spool = {
    .name = "sampler-unfinished",
    .help = "the .part file of a sampler that was killed",
    .header_size = 32,
    .magic_most = 0,
    .record = {.time_size = 8, .value_size = 8, .thread_size = THREAD},
    .probe = probe_spool,
    .next = next,
    .close = close_spool,
};
