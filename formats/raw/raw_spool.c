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

enum { FIXED = 8 + 8 + 4, THREAD = 20 }; /* u64 time [ns], f64 value, u32 threads; per thread */

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
    int state = raw_at_end(stream, dialect->header_size, err);
    if (state != 2)
        return state < 0 ? -1 : 0;
    probe->extension_at = probe->records_at = dialect->header_size;
    *verdict = salvage ? RAW_FITS : RAW_MALFORMED;
    error_set(&probe->error, stream_name(stream), dialect->header_size,
              "unfinished profile of a killed sampler: --salvage keeps its samples");
    return 0;
}

struct raw_reader {
    struct buffer rows; /* of the open block */
    struct cursor in;
    uint32_t left;
    struct raw_batch batch;
};

/* Opens the next block of rows. Returns 1, or 0 at the end or where the file is damaged, since this is a salvage. */
static int open_rows(struct raw_profile *p)
{
    struct raw_reader *r = p->reader;
    struct block block;
    struct error damage = {0};
    while (block_next(p->stream, &block, &damage) > 0) {
        if (strcmp(block.type, "rows") != 0)
            continue;
        r->left = cursor_u32(&block.in);
        r->rows.size = 0;
        size_t size = cursor_left(&block.in);
        buffer_bytes(&r->rows, cursor_bytes(&block.in, size), size);
        r->in = (struct cursor){.data = r->rows.data, .size = size};
        if (r->left > 0)
            return 1;
    }
    return 0;
}

static int next(struct raw_profile *p, struct raw_samples *samples, struct error *err)
{
    struct raw_reader *r = p->reader;
    if (r == NULL) {
        p->reader = r = mem_zalloc(1, sizeof *r);
        if (p->ext.rows_at == 0)
            return 0;
        if (stream_seek(p->stream, p->ext.rows_at, err) != 0)
            return -1;
    }
    if (r->left == 0 && open_rows(p) == 0)
        return 0;
    uint64_t at = stream_offset(p->stream);
    uint64_t time_ns = cursor_u64(&r->in);
    double value = cursor_f64(&r->in);
    uint32_t count = cursor_u32(&r->in);
    const uint8_t *threads = cursor_bytes(&r->in, (size_t)count * THREAD);
    if (threads == NULL || count > RAW_MAX_THREADS)
        return error_set(err, stream_name(p->stream), at,
                         "block 'rows': sample %" PRIu64 " is cut short", p->done);
    r->batch.count = r->batch.entry_count = 0;
    raw_batch_put(&r->batch, time_ns, value, threads, count, THREAD, false);
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
    free(p->reader->batch.entries);
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
