/* Writes pbin in one pass: definitions, then the samples that refer to them, in blocks of columns.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "formats/pbin/block.h"
#include "formats/pbin/pbin_column.h"

enum {
    BATCH_SAMPLES = 4096,
    BATCH_THREAD_SAMPLES = 65536,
    MAX_PENDING = 1024 * 1024, /* definitions or rows in one block [bytes] */
    MAX_STRING = 1024 * 1024
};

/* A block that is being filled; its payload starts with the number of its members. */
struct pending {
    const char *type;
    struct buffer bytes;
    uint32_t count; /* in this block */
    uint32_t total; /* in all blocks */
};

/* In writing order: later kinds refer to earlier ones. */
enum {
    STRINGS,
    MAPS,
    THREADS,
    LOCATIONS,
    RUNS,
    ROWS,
    ARCS,
    TRAILED, /* the trailer counts the kinds before this one */
    PROGRAMS = TRAILED,
    CALLERS,
    CHECKSUMS,
    SOURCES,
    READINGS,
    FIT_COLUMNS,
    FIT_SUMS,
    MEASURES,
    MEASURED,
    HISTOGRAMS,
    PENDINGS
};

struct pbin_writer {
    struct output *out;
    struct strings *strings;
    struct strings *checksums; /* as bytes */
    struct pending pending[PENDINGS];
    struct buffer block;
    uint64_t samples, thread_samples;
    size_t count, thread_sample_count; /* in the batch */
    size_t thread_sample_capacity;
    uint64_t interval[BATCH_SAMPLES], value[BATCH_SAMPLES], threads[BATCH_SAMPLES];
    uint64_t *thread, *location, *cpu; /* [thread_sample_capacity] */
    uint64_t *equal;                   /* the same, if HAS_EQUAL */
    bool has_equal;
    uint64_t **more;       /* [more_count][BATCH_SAMPLES]: additional values */
    uint32_t *more_source; /* [more_count] */
    size_t more_count, more_capacity, more_source_capacity;
    struct buffer busy; /* runs of samples of the batch */
    uint32_t busy_runs;
    struct buffer opaque; /* of the batch */
    uint32_t opaque_size;
};

static int write_block(struct pbin_writer *w)
{
    int result = output_write(w->out, w->block.data, w->block.size);
    w->block.size = 0;
    return result;
}

static int flush_pending(struct pbin_writer *w, struct pending *p)
{
    if (p->count == 0)
        return 0;
    size_t begin = block_begin(&w->block, p->type);
    buffer_u32(&w->block, p->count);
    buffer_bytes(&w->block, p->bytes.data, p->bytes.size);
    block_end(&w->block, begin);
    p->count = 0;
    p->bytes.size = 0;
    return write_block(w);
}

static int flush_definitions(struct pbin_writer *w)
{
    for (int i = 0; i < PENDINGS; i++)
        if (flush_pending(w, &w->pending[i]) != 0)
            return -1;
    return 0;
}

/* Begins a member of block KIND; returns the buffer for it. */
static struct buffer *begin_member(struct pbin_writer *w, int kind)
{
    struct pending *p = &w->pending[kind];
    if (p->bytes.size > MAX_PENDING)
        flush_definitions(w);
    p->count++;
    p->total++;
    return &p->bytes;
}

/* The number of the last member of block KIND. */
static uint32_t last_number(const struct pbin_writer *w, int kind)
{
    return w->pending[kind].total - 1;
}

static void put_meta(struct buffer *block, const struct pbin_meta *meta)
{
    size_t begin = block_begin(block, "META");
    buffer_u32(block, (uint32_t)pbin_field_count);
    for (size_t i = 0; i < pbin_field_count; i++) {
        const void *field = (const char *)meta + pbin_fields[i].at;
        buffer_string(block, pbin_fields[i].name);
        buffer_u8(block, (uint8_t)pbin_fields[i].type);
        if (pbin_fields[i].type == 's')
            buffer_string(block, *(char *const *)field);
        else
            buffer_u64(block, *(const uint64_t *)field); /* or the bits of a double */
    }
    block_end(block, begin);
}

struct pbin_writer *pbin_writer_open(struct output *out, const struct pbin_meta *meta)
{
    static const char *const types[PENDINGS] = {"STRS", "MAPS", "THRD", "LOCS", "RUNS", "ROWS",
                                                "ARCS", "prog", "call", "csum", "srcs", "read",
                                                "fcol", "fsum", "meas", "mval", "hist"};
    struct pbin_writer *w = mem_zalloc(1, sizeof *w);
    w->out = out;
    w->strings = strings_new();
    w->checksums = strings_new();
    for (int i = 0; i < PENDINGS; i++)
        w->pending[i].type = types[i];
    w->pending[STRINGS].total = 1; /* number 0 is "", never written */
    buffer_bytes(&w->block, pbin_signature, PBIN_SIGNATURE_SIZE);
    buffer_u32(&w->block, PBIN_VERSION);
    buffer_u32(&w->block, 0);
    put_meta(&w->block, meta);
    write_block(w);
    return w;
}

uint32_t pbin_define_string(struct pbin_writer *w, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);
    if (length > MAX_STRING)
        length = MAX_STRING;
    uint32_t number = strings_intern_bytes(w->strings, length > 0 ? text : "", length);
    if (number < w->pending[STRINGS].total)
        return number;
    struct buffer *b = begin_member(w, STRINGS);
    buffer_u32(b, (uint32_t)length);
    buffer_bytes(b, text, length);
    return last_number(w, STRINGS);
}

uint32_t pbin_define_map(struct pbin_writer *w, const struct pbin_map *map)
{
    struct buffer *b = begin_member(w, MAPS);
    buffer_u64(b, map->address);
    buffer_u64(b, map->size);
    buffer_u64(b, map->offset);
    buffer_u32(b, map->label);
    buffer_u32(b, map->path);
    buffer_u32(b, map->build_id);
    return last_number(w, MAPS);
}

uint32_t pbin_define_thread(struct pbin_writer *w, const struct pbin_thread *thread)
{
    struct buffer *b = begin_member(w, THREADS);
    buffer_u32(b, thread->tid);
    buffer_u32(b, thread->pid);
    buffer_u32(b, thread->name);
    if (thread->program != 0) {
        b = begin_member(w, PROGRAMS);
        buffer_u32(b, last_number(w, THREADS));
        buffer_u32(b, thread->program);
    }
    return last_number(w, THREADS);
}

uint32_t pbin_define_location(struct pbin_writer *w, const struct pbin_location *location,
                              const struct pbin_frame *frames)
{
    struct buffer *b = begin_member(w, LOCATIONS);
    buffer_u64(b, location->pc);
    buffer_u32(b, location->binary);
    buffer_u32(b, location->map);
    buffer_u32(b, location->frame_count);
    for (uint32_t i = 0; i < location->frame_count; i++) {
        buffer_u32(b, frames[i].function);
        buffer_u32(b, frames[i].demangled);
        buffer_u32(b, frames[i].file);
        buffer_u32(b, frames[i].line);
    }
    return last_number(w, LOCATIONS);
}

void pbin_define_caller(struct pbin_writer *w, uint32_t location, uint32_t caller)
{
    struct buffer *b = begin_member(w, CALLERS);
    buffer_u32(b, location);
    buffer_u32(b, caller);
}

void pbin_define_checksum(struct pbin_writer *w, uint32_t binary, uint32_t file, uint32_t md5)
{
    const uint32_t key[] = {binary, file, md5};
    uint32_t known = strings_count(w->checksums);
    if (md5 == 0 || strings_intern_bytes(w->checksums, (const char *)key, sizeof key) < known)
        return;
    struct buffer *b = begin_member(w, CHECKSUMS);
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++)
        buffer_u32(b, key[i]);
}

uint32_t pbin_define_source(struct pbin_writer *w, const struct pbin_source *source)
{
    struct buffer *b = begin_member(w, SOURCES);
    buffer_u32(b, source->name);
    buffer_u32(b, source->kind);
    buffer_u32(b, source->unit);
    buffer_u32(b, source->scope);
    buffer_f64(b, source->per_count);
    buffer_u64(b, source->period);
    buffer_u8(b, source->role);
    buffer_u32(b, source->help);
    return last_number(w, SOURCES);
}

void pbin_declare_value(struct pbin_writer *w, uint32_t source)
{
    mem_reserve(&w->more, &w->more_capacity, w->more_count + 1, sizeof *w->more);
    mem_reserve(&w->more_source, &w->more_source_capacity, w->more_count + 1,
                sizeof *w->more_source);
    w->more[w->more_count] = mem_zalloc(BATCH_SAMPLES, sizeof **w->more);
    w->more_source[w->more_count++] = source;
}

void pbin_put_reading(struct pbin_writer *w, const struct pbin_reading *reading)
{
    struct buffer *b = begin_member(w, READINGS);
    buffer_u32(b, reading->source);
    buffer_u64(b, reading->time);
    buffer_u64(b, reading->value);
    buffer_u64(b, reading->busy);
}

void pbin_declare_equal(struct pbin_writer *w)
{
    w->has_equal = true;
}

void pbin_put_busy(struct pbin_writer *w, uint32_t samples, uint64_t cpu_ns)
{
    buffer_u32(&w->busy, samples);
    buffer_u64(&w->busy, cpu_ns);
    w->busy_runs++;
}

void pbin_put_opaque(struct pbin_writer *w, const uint8_t *bytes, size_t size, size_t count)
{
    w->opaque_size = (uint32_t)size;
    buffer_bytes(&w->opaque, bytes, size * count);
}

static void put_opaque(struct pbin_writer *w)
{
    if (w->opaque.size == 0)
        return;
    size_t begin = block_begin(&w->block, "opaq");
    buffer_u32(&w->block, w->opaque_size);
    buffer_u32(&w->block, (uint32_t)w->count);
    buffer_bytes(&w->block, w->opaque.data, w->opaque.size);
    block_end(&w->block, begin);
    w->opaque.size = 0;
}

static void put_busy_runs(struct pbin_writer *w)
{
    if (w->busy_runs == 0)
        return;
    size_t begin = block_begin(&w->block, "busy");
    buffer_u32(&w->block, w->busy_runs);
    buffer_bytes(&w->block, w->busy.data, w->busy.size);
    block_end(&w->block, begin);
    w->busy_runs = 0;
    w->busy.size = 0;
}

static void put_equal(struct pbin_writer *w)
{
    size_t count = w->thread_sample_count;
    if (!w->has_equal || count == 0 || memcmp(w->equal, w->cpu, count * sizeof *w->cpu) == 0)
        return;
    size_t begin = block_begin(&w->block, "eqal");
    buffer_u32(&w->block, (uint32_t)count);
    column_put(&w->block, w->equal, count);
    block_end(&w->block, begin);
}

/* Appends the additional values of the batch, one block per source. */
static void put_values(struct pbin_writer *w)
{
    for (size_t i = 0; i < w->more_count; i++) {
        size_t begin = block_begin(&w->block, "vals");
        buffer_u32(&w->block, w->more_source[i]);
        buffer_u32(&w->block, (uint32_t)w->count);
        column_put(&w->block, w->more[i], w->count);
        block_end(&w->block, begin);
    }
}

static int flush_samples(struct pbin_writer *w)
{
    if (w->count == 0)
        return 0;
    if (flush_definitions(w) != 0)
        return -1;
    put_values(w);
    put_busy_runs(w);
    put_opaque(w);
    put_equal(w);
    size_t begin = block_begin(&w->block, "SMPL");
    buffer_u32(&w->block, (uint32_t)w->count);
    buffer_u32(&w->block, (uint32_t)w->thread_sample_count);
    column_put(&w->block, w->interval, w->count);
    column_put(&w->block, w->value, w->count);
    column_put(&w->block, w->threads, w->count);
    column_put(&w->block, w->thread, w->thread_sample_count);
    column_put(&w->block, w->location, w->thread_sample_count);
    column_put(&w->block, w->cpu, w->thread_sample_count);
    block_end(&w->block, begin);
    w->count = w->thread_sample_count = 0;
    return write_block(w);
}

static void reserve_thread_samples(struct pbin_writer *w, size_t need)
{
    size_t capacity = w->thread_sample_capacity, same = capacity;
    mem_reserve(&w->thread, &capacity, need, sizeof *w->thread);
    capacity = same;
    mem_reserve(&w->location, &capacity, need, sizeof *w->location);
    capacity = same;
    if (w->has_equal)
        mem_reserve(&w->equal, &capacity, need, sizeof *w->equal);
    capacity = same;
    mem_reserve(&w->cpu, &capacity, need, sizeof *w->cpu);
    w->thread_sample_capacity = capacity;
}

bool pbin_batch_is_full(const struct pbin_writer *w, size_t count)
{
    return w->count == BATCH_SAMPLES ||
           (w->count > 0 && w->thread_sample_count + count > BATCH_THREAD_SAMPLES);
}

int pbin_make_room(struct pbin_writer *w, size_t count, struct pbin_room *room)
{
    if (pbin_batch_is_full(w, count) && flush_samples(w) != 0)
        return -1;
    size_t most = w->thread_sample_count + count > BATCH_THREAD_SAMPLES
                      ? w->thread_sample_count + count
                      : BATCH_THREAD_SAMPLES;
    if (most > w->thread_sample_capacity)
        reserve_thread_samples(w, most);
    *room = (struct pbin_room){
        BATCH_SAMPLES - w->count,
        most - w->thread_sample_count,
        w->interval + w->count,
        w->value + w->count,
        w->threads + w->count,
        w->more,
        w->count,
        w->thread + w->thread_sample_count,
        w->location + w->thread_sample_count,
        w->cpu + w->thread_sample_count,
        w->has_equal ? w->equal + w->thread_sample_count : NULL,
    };
    return 0;
}

void pbin_fill_room(struct pbin_writer *w, size_t samples, size_t thread_samples)
{
    w->count += samples;
    w->thread_sample_count += thread_samples;
    w->samples += samples;
    w->thread_samples += thread_samples;
}

int pbin_put_sample(struct pbin_writer *w, uint64_t interval_ns, double value,
                    const struct pbin_thread_sample *threads, size_t count)
{
    struct pbin_room room;
    if (pbin_make_room(w, count, &room) != 0)
        return -1;
    *room.interval_ns = interval_ns;
    *room.value_bits = bits_of_double(value);
    *room.threads = count;
    for (size_t i = 0; i < count; i++) {
        room.thread[i] = threads[i].thread;
        room.location[i] = threads[i].location;
        room.cpu_ns[i] = threads[i].cpu_ns;
        if (room.equal_ns != NULL)
            room.equal_ns[i] = threads[i].cpu_ns;
    }
    pbin_fill_room(w, 1, count);
    return 0;
}

static void put_exact(struct buffer *b, exact value)
{
    buffer_u64(b, (uint64_t)value);
    buffer_u64(b, (uint64_t)(value >> 64));
}

static void put_wide(struct buffer *b, const struct wide *value)
{
    for (int i = 0; i < 4; i++)
        buffer_u64(b, value->word[i]);
}

void pbin_put_run(struct pbin_writer *w, const struct pbin_run *run)
{
    struct buffer *b = begin_member(w, RUNS);
    buffer_u32(b, run->name);
    buffer_u64(b, run->wall_ns);
    buffer_u64(b, run->latency_ns);
    buffer_u64(b, run->samples);
    put_exact(b, run->time);
    put_exact(b, run->energy);
}

void pbin_put_row(struct pbin_writer *w, const struct pbin_row *row, size_t key_count)
{
    const struct pbin_sums *s = &row->sums;
    struct buffer *b = begin_member(w, ROWS);
    for (size_t i = 0; i < key_count; i++)
        buffer_u64(b, row->key[i]);
    put_exact(b, s->samples);
    buffer_u64(b, s->entries);
    buffer_u64(b, s->runs);
    put_exact(b, s->time);
    put_exact(b, s->energy);
    put_wide(b, &s->time_sq);
    put_wide(b, &s->energy_sq);
    put_exact(b, s->time_min);
    put_exact(b, s->time_max);
    put_exact(b, s->energy_min);
    put_exact(b, s->energy_max);
}

void pbin_put_arc(struct pbin_writer *w, const struct pbin_arc *arc)
{
    struct buffer *b = begin_member(w, ARCS);
    buffer_u32(b, arc->caller_binary);
    buffer_u32(b, arc->caller);
    buffer_u32(b, arc->callee_binary);
    buffer_u32(b, arc->callee);
    buffer_u64(b, arc->count);
}

void pbin_put_fit_column(struct pbin_writer *w, const struct pbin_fit_column *column,
                         size_t key_count)
{
    struct buffer *b = begin_member(w, FIT_COLUMNS);
    buffer_u8(b, (uint8_t)column->kind);
    for (size_t i = 0; i < key_count; i++)
        buffer_u64(b, column->key[i]);
    put_exact(b, column->cpu);
    put_exact(b, column->switched);
}

void pbin_put_fit_sum(struct pbin_writer *w, const struct pbin_fit_sum *sum)
{
    struct buffer *b = begin_member(w, FIT_SUMS);
    buffer_u32(b, sum->group);
    buffer_u32(b, sum->a);
    buffer_u32(b, sum->b);
    put_exact(b, sum->value);
}

uint32_t pbin_define_measure(struct pbin_writer *w, const struct pbin_measure *measure)
{
    struct buffer *b = begin_member(w, MEASURES);
    buffer_u32(b, measure->name);
    buffer_u32(b, measure->unit);
    buffer_u8(b, (uint8_t)measure->type);
    buffer_u8(b, (uint8_t)measure->join);
    return last_number(w, MEASURES);
}

void pbin_put_measured(struct pbin_writer *w, const struct pbin_measured *measured)
{
    const struct pbin_value *v = &measured->value;
    struct buffer *b = begin_member(w, MEASURED);
    buffer_u32(b, measured->row);
    buffer_u32(b, measured->measure);
    buffer_u64(b, v->runs);
    put_exact(b, v->value);
    if (v->runs == 1)
        return;
    put_wide(b, &v->square);
    put_exact(b, v->least);
    put_exact(b, v->most);
}

void pbin_put_histogram(struct pbin_writer *w, const struct pbin_histogram *histogram)
{
    struct buffer *b = begin_member(w, HISTOGRAMS);
    buffer_u32(b, histogram->row);
    buffer_u32(b, histogram->measure);
    buffer_u32(b, (uint32_t)histogram->count);
    for (size_t i = 0; i < histogram->count; i++) {
        buffer_u32(b, histogram->buckets[i].bucket);
        buffer_u64(b, histogram->buckets[i].count);
    }
}

static int put_trailer(struct pbin_writer *w)
{
    size_t begin = block_begin(&w->block, "TAIL");
    buffer_u64(&w->block, w->samples);
    buffer_u64(&w->block, w->thread_samples);
    for (int i = 0; i < TRAILED; i++)
        buffer_u32(&w->block, w->pending[i].total);
    block_end(&w->block, begin);
    return write_block(w);
}

static void free_writer(struct pbin_writer *w)
{
    for (int i = 0; i < PENDINGS; i++)
        buffer_free(&w->pending[i].bytes);
    buffer_free(&w->block);
    buffer_free(&w->busy);
    buffer_free(&w->opaque);
    strings_delete(w->strings);
    strings_delete(w->checksums);
    free(w->thread);
    free(w->location);
    free(w->cpu);
    free(w->equal);
    for (size_t i = 0; i < w->more_count; i++)
        free(w->more[i]);
    free(w->more);
    free(w->more_source);
    free(w);
}

int pbin_writer_close(struct pbin_writer *w, int result)
{
    if (result == 0 && (flush_samples(w) != 0 || flush_definitions(w) != 0 || put_trailer(w) != 0))
        result = -1;
    free_writer(w);
    return result;
}
