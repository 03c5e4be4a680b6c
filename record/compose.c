/* Composes the finished profile from the spool.
 *
 * The spool is read several times: for the CPU times of threads, for the records, for all blocks
 * that are copied, and for the times of samples.
 * SPDX-License-Identifier: MIT */
#include "record/compose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/stream.h"
#include "formats/pbin/block.h"
#include "formats/raw/raw_readings.h"
#include "record/spool.h"

enum { NS_PER_US = 1000, LABEL_SIZE = 256, THREAD_SIZE = 20, THREAD_CPU = 12 };

/* Factors for the CPU times of threads, in the order in which they first appear. */
struct scales {
    struct numbers tids; /* tid -> index in THREADS */
    struct scaled {
        size_t number; /* of the current thread with the tid; SIZE_MAX: none */
        uint64_t last; /* its CPU time so far */
    } * threads;
    size_t thread_capacity;
    double *factors;
    size_t count, capacity;
};

struct composition {
    struct output *out;
    /* AHEAD: reads readings, which follow the samples that need them */
    struct stream *spool, *ahead;
    const struct profile *profile;
    struct buffer buffer, rows;
    struct raw_readings *readings;
    struct scales scales;
    int group;       /* of the blocks that are copied, enum group */
    uint64_t *times; /* of one block */
    size_t time_count;
    uint64_t samples, timed, before; /* BEFORE: time of the last sample [ns] */
    double energy;
    bool ahead_ended;
    struct error *err;
};

/* Writes the label of a mapping, padded with NUL. */
static void put_label(struct buffer *buffer, const char *path)
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
    buffer_bytes(buffer, path, length);
    memset(buffer_extend(buffer, LABEL_SIZE - length), 0, LABEL_SIZE - length);
}

void compose_header(struct buffer *buffer, uint32_t magic, uint64_t wall, uint64_t latency,
                    uint64_t samples, const struct vmmap *maps, size_t count)
{
    buffer_u32(buffer, magic);
    buffer_u64(buffer, wall / NS_PER_US);
    buffer_u64(buffer, latency / NS_PER_US);
    buffer_u64(buffer, samples);
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u64(buffer, maps[i].address);
        buffer_u64(buffer, maps[i].size);
        put_label(buffer, maps[i].path);
    }
}

/* Writes the contents of the buffer. */
static int put(struct composition *c)
{
    int result = output_write(c->out, c->buffer.data, c->buffer.size);
    c->buffer.size = 0;
    return result;
}

/* The magic of the `sampler` dialect encodes the kind of its value. */
static uint32_t magic_of(enum pmu_kind kind)
{
    static const uint32_t magics[] = {
        [PMU_NONE] = 0, [PMU_CUSTOM] = 0, [PMU_CURRENT] = 1, [PMU_VOLTAGE] = 2, [PMU_POWER] = 3};
    return magics[kind];
}

static int put_header(struct composition *c)
{
    const struct profile *p = c->profile;
    compose_header(&c->buffer, magic_of(p->kind), p->wall, p->latency, p->samples, p->vmmaps,
                   p->vmmap_count);
    return put(c);
}

/* Reads the spool and calls DO_IT for each block. */
static int each_block(struct composition *c, int (*do_it)(struct composition *, struct block *))
{
    struct block block;
    int got;
    if (stream_seek(c->spool, SPOOL_START, c->err) != 0)
        return -1;
    while ((got = block_next(c->spool, &block, c->err)) > 0)
        if (do_it(c, &block) != 0)
            return -1;
    return got;
}

static bool is(const struct block *block, const char *type)
{
    return strcmp(block->type, type) == 0;
}

/* Reads the next sample of a rows block: its time, and its record for the documented part. Returns
 * false at the end. */
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

/* ---- CPU times ---------------------------------------------------------------------------------- */

static struct scaled *find_scaled(struct scales *s, uint32_t tid)
{
    uint32_t known = s->tids.count, index = numbers_intern(&s->tids, tid);
    mem_reserve(&s->threads, &s->thread_capacity, index + 1u, sizeof *s->threads);
    if (index == known)
        s->threads[index] = (struct scaled){.number = SIZE_MAX};
    return &s->threads[index];
}

/* Returns the thread with TID; a new one if the previous one already has its total. */
static struct scaled *current(struct scales *s, uint32_t tid)
{
    struct scaled *thread = find_scaled(s, tid);
    if (thread->number == SIZE_MAX)
        *thread = (struct scaled){.number = s->count++};
    return thread;
}

/* First pass: determines for each thread the factor for the sum of its intervals. */
static void learn(struct scales *s, uint32_t tid, uint64_t cpu, uint8_t flags)
{
    size_t known = s->count;
    struct scaled *thread = current(s, tid);
    mem_reserve(&s->factors, &s->capacity, s->count, sizeof *s->factors);
    if (s->count > known)
        s->factors[known] = 1;
    if (!(flags & RAW_TOTAL)) {
        thread->last = cpu;
        return;
    }
    if (thread->last > 0)
        s->factors[thread->number] = (double)cpu / (double)thread->last;
    thread->number = SIZE_MAX;
}

/* Second pass: applies it. */
static uint64_t scale(struct scales *s, uint32_t tid, uint64_t cpu, uint8_t flags)
{
    struct scaled *thread = current(s, tid);
    if (!(flags & RAW_TOTAL))
        return (uint64_t)((double)cpu * s->factors[thread->number]);
    thread->number = SIZE_MAX;
    return cpu;
}

static void restart(struct scales *s)
{
    for (uint32_t i = 0; i < s->tids.count; i++)
        s->threads[i].number = SIZE_MAX;
    s->count = 0;
}

/* Reads rows and, from the next block, the flags of their threads; calls DO_IT for each thread. A
 * block of rows without flags is the last block, and truncated. */
static int with_flags(struct composition *c, struct block *block,
                      void (*do_it)(struct composition *, uint8_t *thread, uint8_t flags))
{
    if (is(block, "rows")) {
        c->rows.size = 0;
        buffer_bytes(&c->rows, block->in.data, block->in.size);
        return 0;
    }
    if (!is(block, "seen"))
        return 0;
    struct cursor in = {.data = c->rows.data, .size = c->rows.size};
    uint64_t time;
    const uint8_t *record;
    size_t size;
    cursor_u32(&in);
    cursor_u64(&block->in);
    cursor_u32(&block->in);
    while (next_row(&in, &time, &record, &size))
        for (size_t at = 12; at < size; at += THREAD_SIZE)
            do_it(c, c->rows.data + (record - c->rows.data) + at, cursor_u8(&block->in));
    return 0;
}

static void learn_thread(struct composition *c, uint8_t *thread, uint8_t flags)
{
    learn(&c->scales, get_u32(thread, false), get_u64(thread + THREAD_CPU, false), flags);
}

static int learn_block(struct composition *c, struct block *block)
{
    return with_flags(c, block, learn_thread);
}

static void scale_thread(struct composition *c, uint8_t *thread, uint8_t flags)
{
    put_u64le(thread + THREAD_CPU, scale(&c->scales, get_u32(thread, false),
                                         get_u64(thread + THREAD_CPU, false), flags));
}

static void leave_thread(struct composition *c, uint8_t *thread, uint8_t flags)
{
    (void)c;
    (void)thread;
    (void)flags;
}

/* ---- records ------------------------------------------------------------------------------------ */

static void add_readings(struct composition *c, struct block *block)
{
    for (uint32_t left = cursor_u32(&block->in); left > 0 && !block->in.bad; left--) {
        struct raw_reading reading = {.source = cursor_u32(&block->in)};
        reading.time = cursor_u64(&block->in);
        reading.value = cursor_u64(&block->in);
        reading.busy = cursor_u64(&block->in);
        raw_readings_add(c->readings, &reading);
    }
}

/* In the spool, readings follow the samples that need them. */
static int read_ahead(struct composition *c, uint64_t time)
{
    struct block block;
    while (!c->ahead_ended && raw_readings_until(c->readings) < time) {
        int got = block_next(c->ahead, &block, c->err);
        if (got < 0)
            return -1;
        c->ahead_ended = got == 0;
        if (got > 0 && is(&block, "read"))
            add_readings(c, &block);
    }
    return 0;
}

/* Writes the records of the rows that are held. */
static int put_rows(struct composition *c)
{
    struct cursor in = {.data = c->rows.data, .size = c->rows.size};
    uint64_t time;
    const uint8_t *record;
    size_t size;
    cursor_u32(&in);
    for (; next_row(&in, &time, &record, &size); c->samples++) {
        if (read_ahead(c, time) != 0)
            return -1;
        double value = raw_readings_value(c->readings, c->before, time);
        raw_readings_forget(c->readings, time);
        c->energy += value * (double)(time - c->before) * 1e-9;
        c->before = time;
        buffer_f64(&c->buffer, value);
        buffer_bytes(&c->buffer, record + 8, size - 8);
    }
    return put(c);
}

static int put_records(struct composition *c, struct block *block)
{
    with_flags(c, block, c->profile->nominal ? scale_thread : leave_thread);
    return is(block, "seen") ? put_rows(c) : 0;
}

/* ---- the extension ------------------------------------------------------------------------------ */

/* If the file is truncated, the last blocks are lost, so blocks are in order of importance:
 * definitions, with names and the times of samples; readings, with energy; flags, which show
 * whether threads ran. */
enum group { NOT_COPIED, DEFINITIONS, READINGS, FLAGS };

static int group_of(const struct block *block)
{
    if (is(block, "rows") || is(block, "info"))
        return NOT_COPIED;
    if (is(block, "seen") || is(block, "jits"))
        return FLAGS;
    return is(block, "read") ? READINGS : DEFINITIONS;
}

static int copy_block(struct composition *c, struct block *block)
{
    if (group_of(block) != c->group)
        return 0;
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

static int put_definitions(struct composition *c, struct block *block)
{
    return is(block, "rows") ? put_times(c, block) : copy_block(c, block);
}

static int put_extension(struct composition *c)
{
    buffer_bytes(&c->buffer, raw_signature, RAW_SIGNATURE_SIZE);
    raw_put_facts(&c->buffer, c->profile->facts, c->profile->fact_count);
    c->group = DEFINITIONS;
    if (put(c) != 0 || each_block(c, put_definitions) != 0 || end_times(c) != 0)
        return -1;
    for (c->group = READINGS; c->group <= FLAGS; c->group++)
        if (each_block(c, copy_block) != 0)
            return -1;
    raw_put_done(&c->buffer, c->profile->samples);
    return put(c);
}

static int put_all(struct composition *c)
{
    if (stream_make_seekable(c->spool, c->err) != 0 ||
        stream_make_seekable(c->ahead, c->err) != 0 ||
        stream_seek(c->ahead, SPOOL_START, c->err) != 0 || put_header(c) != 0)
        return -1;
    if (c->profile->nominal && each_block(c, learn_block) != 0)
        return -1;
    restart(&c->scales);
    if (each_block(c, put_records) != 0)
        return -1;
    if (c->samples != c->profile->samples)
        return error_set(c->err, stream_name(c->spool), NO_OFFSET,
                         "holds %" PRIu64 " samples, expected %" PRIu64, c->samples,
                         c->profile->samples);
    return put_extension(c);
}

int compose(struct output *out, const char *spool_path, const struct profile *profile,
            double *energy, struct error *err)
{
    struct composition c = {.out = out, .err = err, .profile = profile};
    int result = -1;
    c.spool = stream_open_plain(spool_path, err);
    c.ahead = c.spool != NULL ? stream_open_plain(spool_path, err) : NULL;
    c.times = mem_alloc(RAW_TIMES_PER_BLOCK * sizeof *c.times);
    c.readings = raw_readings_new(profile->sources, profile->source_count);
    if (c.ahead != NULL)
        result = put_all(&c);
    *energy = c.energy;
    if (c.ahead != NULL)
        stream_close(c.ahead);
    if (c.spool != NULL)
        stream_close(c.spool);
    raw_readings_delete(c.readings);
    numbers_free(&c.scales.tids);
    free(c.scales.threads);
    free(c.scales.factors);
    buffer_free(&c.buffer);
    buffer_free(&c.rows);
    free(c.times);
    return result;
}
