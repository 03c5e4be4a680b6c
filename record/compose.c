/* The finished profile, composed from the spool.
 * SPDX-License-Identifier: MIT */
#include "record/compose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stream.h"
#include "formats/pbin/block.h"
#include "record/spool.h"

enum { MAPS_PER_BLOCK = 256, NS_PER_US = 1000, THREAD_SIZE = 20 };

struct composition {
    struct output *out;
    struct stream *spool;
    struct buffer buffer;
    uint64_t *times; /* of one block */
    size_t time_count;
    uint64_t samples, timed;
    struct error *err;
};

void compose_label(char label[LABEL_SIZE], const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = strlen(path);
    if (length >= LABEL_SIZE && slash != NULL) {
        path = slash + 1;
        length = strlen(path);
    }
    if (length >= LABEL_SIZE) {
        path += length - (LABEL_SIZE - 1);
        length = LABEL_SIZE - 1;
    }
    memset(label, 0, LABEL_SIZE);
    memcpy(label, path, length + 1);
}

/* Hands over what the buffer holds. */
static int put(struct composition *c)
{
    int result = output_write(c->out, c->buffer.data, c->buffer.size);
    c->buffer.size = 0;
    return result;
}

static int put_header(struct composition *c, const struct profile *profile)
{
    const struct mappings *mappings = profile->mappings;
    buffer_u32(&c->buffer, (uint32_t)profile->kind);
    buffer_u64(&c->buffer, profile->wall / NS_PER_US);
    buffer_u64(&c->buffer, profile->latency / NS_PER_US);
    buffer_u64(&c->buffer, profile->samples);
    buffer_u32(&c->buffer, (uint32_t)mappings->count);
    for (size_t i = 0; i < mappings->count; i++) {
        char label[LABEL_SIZE];
        compose_label(label, mappings->maps[i].path);
        buffer_u64(&c->buffer, mappings->maps[i].address);
        buffer_u64(&c->buffer, mappings->maps[i].size);
        buffer_bytes(&c->buffer, label, LABEL_SIZE);
    }
    return put(c);
}

/* The next sample of a rows block: its time, and its record for the documented part. Returns false
 * at the end. */
static bool next_row(struct cursor *in, uint64_t *time, const uint8_t **record, size_t *size)
{
    if (cursor_left(in) == 0)
        return false;
    *time = cursor_u64(in);
    size_t at = in->at;
    cursor_f64(in);
    uint32_t threads = cursor_u32(in);
    cursor_bytes(in, (size_t)threads * THREAD_SIZE);
    *record = in->data + at;
    *size = in->at - at;
    return !in->bad;
}

static int put_samples(struct composition *c, struct block *block)
{
    uint64_t time;
    const uint8_t *record;
    size_t size;
    cursor_u32(&block->in);
    for (; next_row(&block->in, &time, &record, &size); c->samples++)
        buffer_bytes(&c->buffer, record, size);
    return put(c);
}

static int put_threads(struct composition *c, struct block *block)
{
    size_t begin = block_begin(&c->buffer, block->type);
    buffer_bytes(&c->buffer, block->in.data, block->in.size);
    block_end(&c->buffer, begin);
    return put(c);
}

static int end_times(struct composition *c)
{
    if (c->time_count == 0)
        return 0;
    raw_put_times(&c->buffer, c->timed, c->times, c->time_count);
    c->timed += c->time_count;
    c->time_count = 0;
    return put(c);
}

static int put_times(struct composition *c, struct block *block)
{
    const uint8_t *record;
    size_t size;
    int result = 0;
    cursor_u32(&block->in);
    while (result == 0 && next_row(&block->in, &c->times[c->time_count], &record, &size))
        if (++c->time_count == RAW_TIMES_PER_BLOCK)
            result = end_times(c);
    return result;
}

/* Goes through the spool; DO_IT sees each block of TYPE. */
static int each_block(struct composition *c, const char *type,
                      int (*do_it)(struct composition *, struct block *))
{
    struct block block;
    int got;
    if (stream_seek(c->spool, SPOOL_START, c->err) != 0)
        return -1;
    while ((got = block_next(c->spool, &block, c->err)) > 0)
        if (strcmp(block.type, type) == 0 && do_it(c, &block) != 0)
            return -1;
    return got;
}

static int put_maps(struct composition *c, const struct mappings *mappings)
{
    int result = 0;
    for (size_t i = 0; i < mappings->count && result == 0; i += MAPS_PER_BLOCK) {
        size_t left = mappings->count - i;
        raw_put_maps(&c->buffer, mappings->maps + i, left < MAPS_PER_BLOCK ? left : MAPS_PER_BLOCK);
        result = put(c);
    }
    return result;
}

static int put_extension(struct composition *c, const struct profile *profile)
{
    buffer_bytes(&c->buffer, raw_signature, RAW_SIGNATURE_SIZE);
    raw_put_facts(&c->buffer, profile->facts, profile->fact_count);
    if (put(c) != 0 || put_maps(c, profile->mappings) != 0 ||
        each_block(c, "thrd", put_threads) != 0)
        return -1;
    if (profile->mappings->vdso_address != 0)
        raw_put_vdso(&c->buffer, profile->mappings->vdso_address, profile->mappings->vdso,
                     profile->mappings->vdso_size);
    if (put(c) != 0 || each_block(c, "rows", put_times) != 0 || end_times(c) != 0)
        return -1;
    raw_put_done(&c->buffer, profile->samples);
    return put(c);
}

static int put_all(struct composition *c, const struct profile *profile)
{
    if (stream_make_seekable(c->spool, c->err) != 0 || put_header(c, profile) != 0 ||
        each_block(c, "rows", put_samples) != 0)
        return -1;
    if (c->samples != profile->samples)
        return error_set(c->err, stream_name(c->spool), NO_OFFSET,
                         "holds %" PRIu64 " samples, expected %" PRIu64, c->samples,
                         profile->samples);
    return put_extension(c, profile);
}

int compose(struct output *out, const char *spool_path, const struct profile *profile,
            struct error *err)
{
    struct composition c = {.out = out, .err = err, .spool = stream_open(spool_path, err)};
    if (c.spool == NULL)
        return -1;
    c.times = mem_alloc(RAW_TIMES_PER_BLOCK * sizeof *c.times);
    int result = put_all(&c, profile);
    stream_close(c.spool);
    buffer_free(&c.buffer);
    free(c.times);
    return result;
}
