/* Reads pbin in one pass; checks every count and number against the data.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log_buckets.h"
#include "base/memory.h"
#include "formats/pbin/block.h"
#include "formats/pbin/pbin_samples.h"

enum { MAX_FRAMES = 4096 };
#define NO_SOURCE UINT32_MAX

/* Limits for the contents of a profile: a fixed amount, and an amount for each byte of the file,
 * which may be compressed. A definition takes up about as much memory as it has bytes. A sample
 * block of constant columns contains 65536 samples, or 2^20 thread samples, in 118 bytes. A value
 * of a measure takes up six times its bytes. */
#define FREE_DEFINED  (UINT64_C(64) << 20)
#define FREE_SAMPLES  (UINT64_C(1) << 26)
#define FREE_MEASURED (UINT64_C(1) << 20)
enum { DEFINED_PER_BYTE = 256, SAMPLES_PER_BYTE = 16384, MEASURED_PER_BYTE = 16 };

struct pbin_reader {
    struct stream *stream;
    struct pbin_choice choice;
    bool cut, ended;
    struct error damage; /* where and why the stream was CUT; no text: it just ends */
    struct pbin_meta meta;
    struct pbin_keys keys;
    struct strings *strings;
    struct pbin_definitions all;
    struct pbin_map *maps;
    struct pbin_thread *threads;
    struct pbin_location *locations;
    struct pbin_frame *frames;
    uint32_t *callers;
    struct pbin_source *sources;
    struct pbin_measure *measures;
    struct pbin_checksum *checksums;
    size_t map_capacity, thread_capacity, location_capacity, frame_capacity, caller_capacity,
        source_capacity, measure_capacity, checksum_capacity;
    size_t caller_count;         /* number of locations that CALLERS covers */
    unsigned wanted;             /* enum pbin_wanted */
    struct pbin_bucket *buckets; /* [LOG_BUCKETS] of the histogram read last; NULL: none yet */
    uint32_t fit_columns;
    uint64_t samples, thread_samples;
    uint64_t defined;  /* in blocks of definitions [bytes] */
    uint64_t measured; /* values of measures, and buckets */
    uint32_t runs, rows, arcs;
    enum pbin_item item; /* the kind of members in the open block; PBIN_END: no block is open */
    uint32_t left;       /* members of it that have not been read */
    struct block block;
    uint64_t begin, end; /* offsets of the wanted sample blocks */
    struct sample_columns columns;
    uint32_t source; /* source whose values replace the PMU values, NO_SOURCE: none */
    bool has_values; /* VALUES are those of the next sample block */
    struct column values;
    bool has_busy; /* runs of the next sample block have been read */
    struct busy_run {
        uint32_t samples;
        uint64_t cpu_ns;
    } * busy_run;    /* [busy_runs] */
    bool has_opaque; /* values of the next sample block have been read */
    uint8_t *opaque; /* [opaque_count * opaque_size] */
    size_t opaque_count, opaque_size, opaque_capacity;
    bool has_equal; /* EQUAL holds those of the next sample block */
    struct column equal;
    double *busy; /* of each sample of the block read last */
    size_t busy_runs, busy_capacity, run_capacity;
};

/* Reports WHAT is wrong with the open block. Returns -1. */
static int fail(struct pbin_reader *r, struct error *err, const char *what)
{
    return error_set(err, stream_name(r->stream), r->block.offset, "block '%s': %s", r->block.type,
                     what);
}

/* Whether COUNT is more than FREE plus PER_BYTE for each byte read from the file. */
static bool is_too_much(const struct pbin_reader *r, uint64_t count, uint64_t free,
                        uint64_t per_byte)
{
    return count > free && (count - free) / per_byte > stream_held(r->stream);
}

static int fail_amplified(struct pbin_reader *r, struct error *err, const char *what)
{
    return error_set(err, stream_name(r->stream), r->block.offset,
                     "%s than a file of this size should have: if you trust it, decompress it "
                     "first",
                     what);
}

static int read_signature(struct pbin_reader *r, struct error *err)
{
    const uint8_t *data;
    const char *name = stream_name(r->stream);
    int64_t have = stream_peek(r->stream, PBIN_SIGNATURE_SIZE + 8, &data, err);
    if (have < 0)
        return -1;
    if (have == 0)
        return stream_fail_empty(r->stream, "a pbin profile", err);
    size_t compared = have < PBIN_SIGNATURE_SIZE ? (size_t)have : PBIN_SIGNATURE_SIZE;
    if (memcmp(data, pbin_signature, compared) != 0) {
        if (have >= 4 && memcmp(data + 1, "PBN", 3) == 0)
            return error_set(err, name, 0, "pbin profile damaged by a transfer in text mode");
        return error_set(err, name, 0,
                         "not a pbin profile (convert raw profiles with prof2pbin first)");
    }
    if (have < PBIN_SIGNATURE_SIZE + 8)
        return error_set(err, name, (uint64_t)have, "pbin header cut short: %d of %d bytes",
                         (int)have, PBIN_SIGNATURE_SIZE + 8);
    uint32_t version = get_u32(data + PBIN_SIGNATURE_SIZE, false);
    if (version != PBIN_VERSION)
        return error_set(err, name, PBIN_SIGNATURE_SIZE, "pbin version %" PRIu32 ", expected %d",
                         version, PBIN_VERSION);
    if (get_u32(data + PBIN_SIGNATURE_SIZE + 4, false) != 0)
        return error_set(err, name, PBIN_SIGNATURE_SIZE + 4,
                         "reserved bytes of the header are not zero");
    stream_advance(r->stream, PBIN_SIGNATURE_SIZE + 8);
    return 0;
}

static void set_field(struct pbin_meta *meta, const char *name, size_t name_length, char type,
                      const char *text, size_t text_length, uint64_t bits)
{
    for (size_t i = 0; i < pbin_field_count; i++) {
        const struct pbin_field *field = &pbin_fields[i];
        void *at = (char *)meta + field->at;
        if (field->type != type || strlen(field->name) != name_length ||
            memcmp(field->name, name, name_length) != 0)
            continue;
        if (type == 's') {
            free(*(char **)at);
            *(char **)at = text_length > 0 ? mem_strndup(text, text_length) : NULL;
        } else {
            *(uint64_t *)at = bits;
        }
    }
}

static int read_meta(struct pbin_reader *r, struct error *err)
{
    int got = block_next(r->stream, &r->block, err);
    if (got == 0)
        return error_set(err, stream_name(r->stream), stream_offset(r->stream),
                         "truncated after 0 samples");
    if (got < 0)
        return -1;
    struct cursor *in = &r->block.in;
    if (strcmp(r->block.type, "META") != 0)
        return fail(r, err, "the first block must be META");
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        size_t name_length, length = 0;
        const char *text = "";
        const char *name = cursor_string(in, &name_length);
        char type = (char)cursor_u8(in);
        uint64_t bits = 0;
        if (type == 's')
            text = cursor_string(in, &length);
        else
            bits = cursor_u64(in);
        if (!in->bad)
            set_field(&r->meta, name, name_length, type, text, length, bits);
    }
    if (in->bad)
        return fail(r, err, "too short for its count");
    return r->meta.keys == NULL
               ? 0
               : pbin_keys_parse(&r->keys, r->meta.keys, stream_name(r->stream), err);
}

void pbin_reader_part(struct pbin_reader *r, uint64_t begin, uint64_t end)
{
    r->begin = begin;
    r->end = end;
    stream_spare(r->stream, begin > stream_offset(r->stream));
}

void pbin_reader_want(struct pbin_reader *r, enum pbin_wanted what)
{
    r->wanted |= what;
}

struct pbin_choice pbin_reader_choice(const struct pbin_reader *r)
{
    return r->choice;
}

void pbin_reader_close(struct pbin_reader *r)
{
    if (r == NULL)
        return;
    sample_columns_free(&r->columns);
    column_free(&r->values);
    free(r->busy);
    column_free(&r->equal);
    free(r->opaque);
    free(r->busy_run);
    pbin_meta_free(&r->meta);
    strings_delete(r->strings);
    free(r->maps);
    free(r->threads);
    free(r->locations);
    free(r->frames);
    free(r->callers);
    free(r->sources);
    free(r->measures);
    free(r->checksums);
    free(r->buckets);
    free(r);
}

/* Reads a string number; marks the cursor bad if it is not defined. */
static uint32_t string_number(struct pbin_reader *r, struct cursor *in)
{
    uint32_t number = cursor_u32(in);
    if (number < strings_count(r->strings))
        return number;
    in->bad = true;
    return 0;
}

static void read_string(struct pbin_reader *r, struct cursor *in)
{
    size_t length;
    uint32_t expected = strings_count(r->strings);
    const char *text = cursor_string(in, &length);
    if (in->bad || memchr(text, '\0', length) != NULL ||
        strings_intern_bytes(r->strings, text, length) != expected)
        in->bad = true; /* truncated, contains a NUL, or defined twice */
}

static void read_map(struct pbin_reader *r, struct cursor *in)
{
    struct pbin_map *map = MEM_APPEND(r->maps, r->all.map_count, r->map_capacity);
    map->address = cursor_u64(in);
    map->size = cursor_u64(in);
    map->offset = cursor_u64(in);
    map->label = string_number(r, in);
    map->path = string_number(r, in);
    map->build_id = string_number(r, in);
}

static void read_thread(struct pbin_reader *r, struct cursor *in)
{
    struct pbin_thread *thread = MEM_APPEND(r->threads, r->all.thread_count, r->thread_capacity);
    thread->tid = cursor_u32(in);
    thread->pid = cursor_u32(in);
    thread->name = string_number(r, in);
    thread->program = 0;
}

static void read_program(struct pbin_reader *r, struct cursor *in)
{
    uint32_t thread = cursor_u32(in), program = string_number(r, in);
    if (thread >= r->all.thread_count)
        in->bad = true;
    else
        r->threads[thread].program = program;
}

static void read_frame(struct pbin_reader *r, struct cursor *in)
{
    struct pbin_frame *frame = MEM_APPEND(r->frames, r->all.frame_count, r->frame_capacity);
    frame->function = string_number(r, in);
    frame->demangled = string_number(r, in);
    frame->file = string_number(r, in);
    frame->line = cursor_u32(in);
}

static void read_location(struct pbin_reader *r, struct cursor *in)
{
    struct pbin_location *location =
        MEM_APPEND(r->locations, r->all.location_count, r->location_capacity);
    location->pc = cursor_u64(in);
    location->binary = string_number(r, in);
    location->map = cursor_u32(in);
    location->frame_count = cursor_u32(in);
    location->first_frame = (uint32_t)r->all.frame_count;
    if (location->map != PBIN_NO_MAP && location->map >= r->all.map_count)
        in->bad = true;
    if (location->frame_count == 0 || location->frame_count > MAX_FRAMES)
        in->bad = true;
    for (uint32_t i = 0; i < location->frame_count && !in->bad; i++)
        read_frame(r, in);
}

/* Extends CALLERS to all locations. */
static void cover_locations(struct pbin_reader *r)
{
    while (r->caller_count < r->all.location_count)
        *MEM_APPEND(r->callers, r->caller_count, r->caller_capacity) = PBIN_NO_CALLER;
}

/* A cycle of callers does no harm, because look-ups go only one step. */
static void read_caller(struct pbin_reader *r, struct cursor *in)
{
    size_t count = r->all.location_count;
    uint32_t location = cursor_u32(in), caller = cursor_u32(in);
    if (location >= count || caller >= count || location == caller)
        in->bad = true;
    cover_locations(r);
    if (!in->bad)
        r->callers[location] = caller;
}

static void read_source(struct pbin_reader *r, struct cursor *in)
{
    struct pbin_source *source = MEM_APPEND(r->sources, r->all.source_count, r->source_capacity);
    source->name = string_number(r, in);
    source->kind = string_number(r, in);
    source->unit = string_number(r, in);
    source->scope = string_number(r, in);
    source->per_count = cursor_f64(in);
    source->period = cursor_u64(in);
    source->role = cursor_u8(in);
    source->help = string_number(r, in);
}

static void read_checksum(struct pbin_reader *r, struct cursor *in)
{
    struct pbin_checksum *checksum =
        MEM_APPEND(r->checksums, r->all.checksum_count, r->checksum_capacity);
    checksum->binary = string_number(r, in);
    checksum->file = string_number(r, in);
    checksum->md5 = string_number(r, in);
    if (!pbin_is_md5(strings_get(r->strings, checksum->md5)))
        in->bad = true;
}

/* The name of a measure becomes that of a column: at most PBIN_MEASURE_NAME lower-case letters,
 * digits and underscores, beginning with a letter. */
static bool is_measure_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return name[0] >= 'a' && name[0] <= 'z' && name[length] == '\0' && length <= PBIN_MEASURE_NAME;
}

/* Reads a measure, whose name must differ from all earlier ones. */
static void read_measure(struct pbin_reader *r, struct cursor *in)
{
    struct pbin_measure measure = {.name = string_number(r, in), .unit = string_number(r, in)};
    uint8_t type = cursor_u8(in), join = cursor_u8(in);
    bool sum = join == PBIN_ADD || join == PBIN_ADD_SAME;
    in->bad |= type > PBIN_HISTOGRAM || join > PBIN_MAX || (type == PBIN_HISTOGRAM && !sum);
    in->bad |= !is_measure_name(strings_get(r->strings, measure.name)) ||
               r->all.measure_count == PBIN_MAX_MEASURES;
    for (size_t i = 0; i < r->all.measure_count; i++)
        in->bad |= r->measures[i].name == measure.name;
    if (in->bad)
        return;
    measure.type = (enum pbin_measure_type)type;
    measure.join = (enum pbin_measure_join)join;
    *MEM_APPEND(r->measures, r->all.measure_count, r->measure_capacity) = measure;
}

typedef void read_one(struct pbin_reader *r, struct cursor *in);

static int read_all(struct pbin_reader *r, read_one *one, struct error *err)
{
    struct cursor *in = &r->block.in;
    const struct pbin_definitions before = r->all;
    r->defined += in->size;
    if (is_too_much(r, r->defined, FREE_DEFINED, DEFINED_PER_BYTE))
        return fail_amplified(r, err, "more definitions");
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--)
        one(r, in);
    if (in->bad) { /* a salvaged profile omits the definitions of a damaged block */
        r->all = before;
        fail(r, err, "too short for its count, or refers to something undefined");
    }
    r->all.strings = r->strings;
    r->all.maps = r->maps;
    r->all.threads = r->threads;
    r->all.locations = r->locations;
    r->all.frames = r->frames;
    if (r->callers != NULL)
        cover_locations(r);
    r->all.callers = r->callers;
    r->all.sources = r->sources;
    r->all.measures = r->measures;
    r->all.checksums = r->checksums;
    return in->bad ? -1 : 0;
}

/* Reads the open block if it contains definitions. Returns 1, 0 for another type of block, or -1 on
 * an error. */
static int read_definitions(struct pbin_reader *r, struct error *err)
{
    static const struct {
        const char *type;
        read_one *one;
    } kinds[] = {{"STRS", read_string},   {"MAPS", read_map},     {"THRD", read_thread},
                 {"LOCS", read_location}, {"prog", read_program}, {"call", read_caller},
                 {"srcs", read_source},   {"meas", read_measure}, {"csum", read_checksum}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(r->block.type, kinds[i].type) == 0)
            return read_all(r, kinds[i].one, err) != 0 ? -1 : 1;
    return 0;
}

static exact read_exact(struct cursor *in)
{
    uint64_t low = cursor_u64(in);
    return (exact)((unsigned __int128)cursor_u64(in) << 64 | low);
}

static void read_wide(struct cursor *in, struct wide *value)
{
    for (int i = 0; i < 4; i++)
        value->word[i] = cursor_u64(in);
}

static void read_row(struct pbin_reader *r, struct cursor *in, struct pbin_row *row)
{
    struct pbin_sums *s = &row->sums;
    for (size_t i = 0; i < r->keys.count; i++)
        row->key[i] = cursor_u64(in);
    s->samples = read_exact(in);
    s->entries = cursor_u64(in);
    s->runs = cursor_u64(in);
    s->time = read_exact(in);
    s->energy = read_exact(in);
    read_wide(in, &s->time_sq);
    read_wide(in, &s->energy_sq);
    s->time_min = read_exact(in);
    s->time_max = read_exact(in);
    s->energy_min = read_exact(in);
    s->energy_max = read_exact(in);
    r->rows++;
}

static void read_run(struct pbin_reader *r, struct cursor *in, struct pbin_run *run)
{
    run->name = string_number(r, in);
    run->wall_ns = cursor_u64(in);
    run->latency_ns = cursor_u64(in);
    run->samples = cursor_u64(in);
    run->time = read_exact(in);
    run->energy = read_exact(in);
    r->runs++;
}

static void read_arc(struct pbin_reader *r, struct cursor *in, struct pbin_arc *arc)
{
    arc->caller_binary = string_number(r, in);
    arc->caller = string_number(r, in);
    arc->callee_binary = string_number(r, in);
    arc->callee = string_number(r, in);
    arc->count = cursor_u64(in);
    r->arcs++;
}

static void read_reading(struct pbin_reader *r, struct cursor *in, struct pbin_reading *reading)
{
    reading->source = cursor_u32(in);
    reading->time = cursor_u64(in);
    reading->value = cursor_u64(in);
    reading->busy = cursor_u64(in);
    if (reading->source >= r->all.source_count)
        in->bad = true;
}

static void read_fit_column(struct pbin_reader *r, struct cursor *in,
                            struct pbin_fit_column *column)
{
    uint8_t kind = cursor_u8(in);
    for (size_t i = 0; i < r->keys.count; i++)
        column->key[i] = cursor_u64(in);
    column->cpu = read_exact(in);
    column->switched = read_exact(in);
    column->kind = (enum pbin_fit_kind)kind;
    if (kind != (r->fit_columns < PBIN_FIT_ROW ? r->fit_columns : PBIN_FIT_ROW))
        in->bad = true;
    r->fit_columns++;
}

static void read_fit_sum(struct pbin_reader *r, struct cursor *in, struct pbin_fit_sum *sum)
{
    sum->group = cursor_u32(in);
    sum->a = cursor_u32(in);
    sum->b = cursor_u32(in);
    sum->value = read_exact(in);
    if (sum->group >= PBIN_FIT_GROUPS || sum->a >= r->fit_columns || sum->b > sum->a)
        in->bad = true;
}

/* Whether MEASURE is defined, is a histogram if and only if HISTOGRAM is set, and ROW has been
 * read. */
static bool is_measured(const struct pbin_reader *r, uint32_t row, uint32_t measure, bool histogram)
{
    return row < r->rows && measure < r->all.measure_count &&
           (r->measures[measure].type == PBIN_HISTOGRAM) == histogram;
}

static void read_measured(struct pbin_reader *r, struct cursor *in, struct pbin_measured *measured)
{
    struct pbin_value *v = &measured->value;
    measured->row = cursor_u32(in);
    measured->measure = cursor_u32(in);
    r->measured++;
    uint64_t runs = cursor_u64(in);
    *v = pbin_value_of_run(read_exact(in));
    in->bad |= runs == 0 || !is_measured(r, measured->row, measured->measure, false);
    if (runs == 1 || in->bad)
        return;
    v->runs = runs;
    read_wide(in, &v->square);
    v->least = read_exact(in);
    v->most = read_exact(in);
}

static void read_histogram(struct pbin_reader *r, struct cursor *in, struct pbin_histogram *h)
{
    if (r->buckets == NULL)
        r->buckets = mem_zalloc(LOG_BUCKETS, sizeof *r->buckets);
    h->row = cursor_u32(in);
    h->measure = cursor_u32(in);
    h->count = cursor_u32(in);
    h->buckets = r->buckets;
    r->measured += h->count;
    in->bad |= h->count > LOG_BUCKETS || !is_measured(r, h->row, h->measure, true);
    for (size_t i = 0; i < h->count && !in->bad; i++) {
        struct pbin_bucket *b = &r->buckets[i];
        b->bucket = cursor_u32(in);
        b->count = cursor_u64(in);
        in->bad |= b->bucket >= LOG_BUCKETS || b->count == 0 ||
                   (i > 0 && b->bucket <= r->buckets[i - 1].bucket);
    }
}

/* Delivers the next member of a block of rows, runs, arcs, readings, sums over windows or measures.
 * Returns 1, or -1. */
static int next_member(struct pbin_reader *r, struct pbin_batch *batch, struct error *err)
{
    struct cursor *in = &r->block.in;
    batch->item = r->item;
    if (r->item == PBIN_ROW)
        read_row(r, in, &batch->row);
    else if (r->item == PBIN_RUN)
        read_run(r, in, &batch->run);
    else if (r->item == PBIN_READING)
        read_reading(r, in, &batch->reading);
    else if (r->item == PBIN_COLUMN)
        read_fit_column(r, in, &batch->fit_column);
    else if (r->item == PBIN_SUM)
        read_fit_sum(r, in, &batch->fit_sum);
    else if (r->item == PBIN_MEASURED)
        read_measured(r, in, &batch->measured);
    else if (r->item == PBIN_BUCKETS)
        read_histogram(r, in, &batch->histogram);
    else
        read_arc(r, in, &batch->arc);
    if (in->bad)
        return fail(r, err, "too short for its count, or refers to something undefined");
    if (is_too_much(r, r->measured, FREE_MEASURED, MEASURED_PER_BYTE))
        return fail_amplified(r, err, "more measures");
    if (--r->left == 0)
        r->item = PBIN_END;
    return 1;
}

/* Prepares the open block for next_member if it contains rows, runs, arcs, or other wanted members.
 * Returns 1, 0 for another type of block, or -1 on an error. */
static int open_members(struct pbin_reader *r, struct error *err)
{
    static const struct {
        const char *type;
        enum pbin_item item;
    } kinds[] = {{"ROWS", PBIN_ROW},      {"RUNS", PBIN_RUN},    {"ARCS", PBIN_ARC},
                 {"read", PBIN_READING},  {"fcol", PBIN_COLUMN}, {"fsum", PBIN_SUM},
                 {"mval", PBIN_MEASURED}, {"hist", PBIN_BUCKETS}};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    size_t i = 0;
    while (i < KINDS && strcmp(r->block.type, kinds[i].type) != 0)
        i++;
    if (i == KINDS)
        return 0;
    enum pbin_item item = kinds[i].item;
    bool fit = item == PBIN_COLUMN || item == PBIN_SUM;
    bool measures = item == PBIN_MEASURED || item == PBIN_BUCKETS;
    if ((item == PBIN_READING && (r->wanted & PBIN_WANT_READINGS) == 0) ||
        (fit && (r->wanted & PBIN_WANT_FIT) == 0) ||
        (measures && (r->wanted & PBIN_WANT_MEASURES) == 0))
        return 0;
    if (r->keys.count == 0 && (item == PBIN_ROW || item == PBIN_RUN || fit || measures))
        return fail(r, err, "sums in a profile that is not aggregated");
    r->left = cursor_u32(&r->block.in);
    r->item = r->left > 0 ? item : PBIN_END;
    return r->block.in.bad ? fail(r, err, "too short to hold a count") : 1;
}

/* Reads the CPU time of the machine, given for runs of samples of the next sample block. */
static int read_busy(struct pbin_reader *r, struct error *err)
{
    struct cursor *in = &r->block.in;
    uint32_t runs = cursor_u32(in);
    if ((r->wanted & PBIN_WANT_BUSY) == 0)
        return 0;
    if (runs > MAX_BATCH_SAMPLES)
        return fail(r, err, "has more runs than a block of samples may hold");
    mem_reserve(&r->busy_run, &r->run_capacity, runs + 1, sizeof *r->busy_run);
    for (uint32_t i = 0; i < runs && !in->bad; i++) {
        r->busy_run[i].samples = cursor_u32(in);
        r->busy_run[i].cpu_ns = cursor_u64(in);
    }
    if (in->bad)
        return fail(r, err, "too short for its count");
    r->busy_runs = runs;
    r->has_busy = true;
    return 0;
}

/* Divides CPU_NS among COUNT samples in proportion to their intervals. */
static void spread_busy(const uint64_t *interval_ns, size_t count, double cpu_ns, double *busy)
{
    double time = 0;
    for (size_t i = 0; i < count; i++)
        time += (double)interval_ns[i];
    double rate = time > 0 ? cpu_ns / time : 0, each = time > 0 ? 0 : cpu_ns / (double)count;
    for (size_t i = 0; i < count; i++)
        busy[i] = (double)interval_ns[i] * rate + each;
}

/* Adds the CPU time of the machine to the samples just read. Returns 0, or -1. */
static int take_busy(struct pbin_reader *r, struct pbin_samples *s, struct error *err)
{
    size_t at = 0;
    s->busy_ns = NULL;
    if (!r->has_busy)
        return 0;
    mem_reserve(&r->busy, &r->busy_capacity, s->count + 1, sizeof *r->busy);
    for (size_t i = 0; i < r->busy_runs; i++) {
        const struct busy_run *run = &r->busy_run[i];
        if (run->samples == 0 || run->samples > s->count - at)
            return fail(r, err, "the CPU time of the machine belongs to other samples");
        spread_busy(s->interval_ns + at, run->samples, (double)run->cpu_ns, r->busy + at);
        at += run->samples;
    }
    if (at < s->count)
        return fail(r, err, "the CPU time of the machine belongs to other samples");
    s->busy_ns = r->busy;
    r->has_busy = false;
    return 0;
}

/* Reads the non-numeric values of the samples in the next sample block. */
static int read_opaque(struct pbin_reader *r, struct error *err)
{
    struct cursor *in = &r->block.in;
    uint32_t size = cursor_u32(in), count = cursor_u32(in);
    if ((r->wanted & PBIN_WANT_OPAQUE) == 0)
        return 0;
    if (count > MAX_BATCH_SAMPLES || size == 0 || size > PBIN_MAX_OPAQUE)
        return fail(r, err, "has more or larger values than a block of samples may");
    const uint8_t *bytes = cursor_bytes(in, (size_t)size * count);
    if (in->bad)
        return fail(r, err, "too short for its count");
    mem_reserve(&r->opaque, &r->opaque_capacity, (size_t)size * count + 1, 1);
    memcpy(r->opaque, bytes, (size_t)size * count);
    r->opaque_size = size;
    r->opaque_count = count;
    r->has_opaque = true;
    return 0;
}

static int take_opaque(struct pbin_reader *r, struct pbin_samples *s, struct error *err)
{
    s->opaque = NULL;
    s->opaque_size = 0;
    if (!r->has_opaque)
        return 0;
    if (r->opaque_count != s->count)
        return fail(r, err, "the preceding values belong to other samples");
    s->opaque = r->opaque;
    s->opaque_size = r->opaque_size;
    r->has_opaque = false;
    return 0;
}

/* The CPU times of the thread samples of the next block, if sightings shared them equally. */
static int read_equal(struct pbin_reader *r, struct error *err)
{
    struct cursor *in = &r->block.in;
    uint32_t count = cursor_u32(in);
    if ((r->wanted & PBIN_WANT_EQUAL) == 0)
        return 0;
    if (count > MAX_BATCH_THREAD_SAMPLES)
        return fail(r, err, "has more CPU times than a block of samples may");
    if (column_get(&r->equal, in, count) < 0)
        return fail(r, err, "column cut short");
    r->has_equal = true;
    return 0;
}

static int take_equal(struct pbin_reader *r, struct pbin_samples *s, struct error *err)
{
    s->equal_ns = NULL;
    if (!r->has_equal)
        return 0;
    if (r->equal.count != s->thread_sample_count)
        return fail(r, err, "the preceding CPU times belong to other samples");
    s->equal_ns = r->equal.values;
    r->has_equal = false;
    return 0;
}

static int read_samples(struct pbin_reader *r, struct pbin_batch *batch, struct error *err)
{
    struct sample_columns *c = &r->columns;
    const char *wrong = sample_columns_read(c, &r->all, &r->block.in);
    if (wrong != NULL)
        return fail(r, err, wrong);
    if (r->source != NO_SOURCE) {
        if (!r->has_values || r->values.count != c->samples.count)
            return fail(r, err, "lacks the values of the chosen source");
        c->samples.value = (const double *)(const void *)r->values.values;
        r->has_values = false;
    }
    if (take_busy(r, &c->samples, err) != 0 || take_opaque(r, &c->samples, err) != 0 ||
        take_equal(r, &c->samples, err) != 0)
        return -1;
    r->samples += c->samples.count;
    r->thread_samples += c->samples.thread_sample_count;
    if (is_too_much(r, r->samples, FREE_SAMPLES, SAMPLES_PER_BYTE) ||
        is_too_much(r, r->thread_samples, FREE_SAMPLES, SAMPLES_PER_BYTE))
        return fail_amplified(r, err, "more samples");
    batch->item = PBIN_SAMPLES;
    batch->samples = c->samples;
    return 1;
}

/* Reads the values of a source for the next sample block, if this source was chosen. */
static int read_values(struct pbin_reader *r, struct error *err)
{
    struct cursor *in = &r->block.in;
    uint32_t source = cursor_u32(in), count = cursor_u32(in);
    if (source >= r->all.source_count)
        return fail(r, err, "refers to an undefined source");
    if (source != r->source)
        return 0;
    if (count > MAX_BATCH_SAMPLES)
        return fail(r, err, "has more values than a block may hold");
    if (column_get(&r->values, in, count) < 0)
        return fail(r, err, "column cut short");
    r->has_values = true;
    return 0;
}

static bool read_counts(struct cursor *in, struct pbin_counts *counts)
{
    uint32_t *const small[] = {&counts->strings,   &counts->maps, &counts->threads,
                               &counts->locations, &counts->runs, &counts->rows,
                               &counts->arcs};
    counts->samples = cursor_u64(in);
    counts->thread_samples = cursor_u64(in);
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        *small[i] = cursor_u32(in);
    return !in->bad;
}

bool pbin_peek_trailer(struct stream *stream, struct pbin_counts *counts)
{
    const uint64_t whole = 2 * 8 + 7 * 4 + BLOCK_OVERHEAD;
    struct error unused = {0};
    struct block block;
    return stream_size(stream) > whole &&
           stream_seek(stream, stream_size(stream) - whole, &unused) == 0 &&
           block_next(stream, &block, &unused) > 0 && strcmp(block.type, "TAIL") == 0 &&
           read_counts(&block.in, counts);
}

static int check_trailer(struct pbin_reader *r, struct error *err)
{
    const uint8_t *data;
    struct pbin_counts said;
    bool same = read_counts(&r->block.in, &said) && said.samples == r->samples &&
                said.thread_samples == r->thread_samples &&
                said.strings == strings_count(r->strings) && said.maps == r->all.map_count &&
                said.threads == r->all.thread_count && said.locations == r->all.location_count &&
                said.runs == r->runs && said.rows == r->rows && said.arcs == r->arcs;
    if (!same)
        return fail(r, err, "its counts do not match the blocks read: a block is missing");
    int64_t have = stream_peek(r->stream, 1, &data, err);
    if (have > 0)
        return error_set(err, stream_name(r->stream), stream_offset(r->stream),
                         "trailing data after the pbin profile");
    r->ended = true;
    return (int)have;
}

enum { GO_ON = 2 };

static int take_block(struct pbin_reader *r, struct pbin_batch *batch, struct error *err)
{
    if (strcmp(r->block.type, "SMPL") == 0)
        return r->keys.count == 0 ? read_samples(r, batch, err)
                                  : fail(r, err, "samples in an aggregated profile");
    if (strcmp(r->block.type, "TAIL") == 0)
        return check_trailer(r, err);
    if (strcmp(r->block.type, "vals") == 0)
        return read_values(r, err) != 0 ? -1 : GO_ON;
    if (strcmp(r->block.type, "busy") == 0)
        return read_busy(r, err) != 0 ? -1 : GO_ON;
    if (strcmp(r->block.type, "opaq") == 0)
        return read_opaque(r, err) != 0 ? -1 : GO_ON;
    if (strcmp(r->block.type, "eqal") == 0)
        return read_equal(r, err) != 0 ? -1 : GO_ON;
    int taken = read_definitions(r, err);
    if (taken == 0)
        taken = open_members(r, err);
    if (taken != 0)
        return taken < 0 ? -1 : GO_ON;
    return block_is_optional(&r->block)
               ? GO_ON
               : fail(r, err, "required but unknown: written by a newer version");
}

/* Handles a stream that ended or failed before the trailer. */
static int end_early(struct pbin_reader *r, struct error *damage, struct error *err)
{
    r->cut = true;
    r->damage = *damage;
    if (damage->text[0] == '\0' || damage->offset == NO_OFFSET)
        r->damage.offset = stream_offset(r->stream);
    if (r->choice.salvage)
        return 0;
    uint64_t offset = damage->text[0] != '\0' ? damage->offset : stream_offset(r->stream);
    bool cut = damage->text[0] == '\0' || strstr(damage->text, "cut short") != NULL;
    if (!cut)
        return error_set(err, stream_name(r->stream), offset, "%s", damage->text);
    return error_set(err, stream_name(r->stream), offset, "truncated after %" PRIu64 " samples%s%s",
                     r->samples, damage->text[0] != '\0' ? ": " : "", damage->text);
}

/* Skips the sample blocks before the wanted part, counting their samples, and ends after the part.
 * Returns 0 if the next block is to be read, or -1 on an error. */
static int skip_to_part(struct pbin_reader *r, struct error *err)
{
    const uint8_t *data;
    int64_t have = 0;
    while (r->begin > 0 || r->end < UINT64_MAX) {
        uint64_t offset = stream_offset(r->stream);
        have = stream_peek(r->stream, 16, &data, err);
        if (have < 16 || memcmp(data + 4, "SMPL", 4) != 0)
            break;
        r->ended = offset >= r->end;
        if (r->ended)
            break;
        stream_spare(r->stream, offset < r->begin);
        if (offset >= r->begin)
            break;
        r->has_busy = r->has_opaque = r->has_equal = false;
        r->samples += get_u32(data + 8, false);
        r->thread_samples += get_u32(data + 12, false);
        if (stream_skip(r->stream, (uint64_t)get_u32(data, false) + BLOCK_OVERHEAD, err) != 0)
            return -1;
    }
    return have < 0 ? -1 : 0;
}

int pbin_reader_next(struct pbin_reader *r, struct pbin_batch *batch, struct error *err)
{
    struct error damage = {0};
    int state = GO_ON;
    if (r->item != PBIN_END)
        return next_member(r, batch, err);
    if (r->ended || r->cut)
        return 0;
    while (state == GO_ON) {
        int got = skip_to_part(r, &damage);
        if (r->ended)
            return 0;
        if (got == 0)
            got = block_next(r->stream, &r->block, &damage) > 0;
        if (got <= 0)
            return end_early(r, &damage, err);
        state = take_block(r, batch, &damage);
        if (r->item != PBIN_END)
            state = next_member(r, batch, &damage);
    }
    if (state < 0)
        return end_early(r, &damage, err);
    return state;
}

/* Reads up to the first block that is neither a definition nor optional. Returns 0, or -1. */
static int read_ahead(struct pbin_reader *r, struct error *err)
{
    static const char *const ends[] = {"SMPL", "ROWS", "RUNS", "ARCS", "TAIL",
                                       "vals", "read", "busy", "opaq", "eqal"};
    const uint8_t *data;
    struct pbin_batch none;
    for (;;) {
        int64_t have = stream_peek(r->stream, 8, &data, err);
        if (have < 8) /* pbin_reader_next reports what is missing */
            return have < 0 ? -1 : 0;
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
            if (memcmp(data + 4, ends[i], 4) == 0)
                return 0;
        int got = block_next(r->stream, &r->block, err);
        if (got <= 0 || take_block(r, &none, err) < 0)
            return got == 0 ? 0 : -1;
    }
}

/* The only source of the PMU values; NO_SOURCE if there is none or more than one. */
static uint32_t only_part(const struct pbin_reader *r)
{
    uint32_t found = NO_SOURCE;
    for (uint32_t i = 0; i < r->all.source_count; i++) {
        if (r->sources[i].role != 1)
            continue;
        if (found != NO_SOURCE)
            return NO_SOURCE;
        found = i;
    }
    return found;
}

/* Reports that no source has the chosen name. Returns -1. */
static int fail_choice(struct pbin_reader *r, struct error *err)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < r->all.source_count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                                 strings_get(r->strings, r->sources[i].name));
    return error_set(err, stream_name(r->stream), NO_OFFSET, "no value '%s'%s%s%s", r->choice.value,
                     used > 0 ? ", expected one of " : ": the profile has only its PMU value",
                     names, used >= sizeof names ? "..." : "");
}

static void set_text(char **text, const char *to)
{
    free(*text);
    *text = to[0] != '\0' ? mem_strdup(to) : NULL;
}

/* Makes META describe the values of SOURCE. */
static void describe_value(struct pbin_reader *r, const struct pbin_source *source)
{
    bool counter = pbin_source_is_counter(r->strings, source);
    int kind = pmu_kind_parse(strings_get(r->strings, source->kind));
    const char *name = strings_get(r->strings, source->name);
    if (r->meta.value == NULL || strcmp(r->meta.value, name) != 0)
        r->meta.baseline_w = 0; /* which is that of the PMU value */
    r->meta.pmu = counter ? PMU_POWER : kind > PMU_NONE ? (uint64_t)kind : PMU_CUSTOM;
    set_text(&r->meta.unit, counter ? "W" : strings_get(r->strings, source->unit));
    set_text(&r->meta.value, name);
    set_text(&r->meta.scope, strings_get(r->strings, source->scope));
}

/* Finds the source whose values were chosen. Returns 0, or -1. */
static int choose_value(struct pbin_reader *r, struct error *err)
{
    uint32_t source = 0;
    if (r->meta.keys != NULL)
        return error_set(err, stream_name(r->stream), NO_OFFSET,
                         "an aggregated profile has one value only: aggregate with --value first");
    if (read_ahead(r, err) != 0)
        return -1;
    while (source < r->all.source_count &&
           strcmp(strings_get(r->strings, r->sources[source].name), r->choice.value) != 0)
        source++;
    if (source == r->all.source_count)
        return fail_choice(r, err);
    describe_value(r, &r->sources[source]);
    r->source = source != only_part(r) ? source : NO_SOURCE;
    return 0;
}

struct pbin_reader *pbin_reader_open(struct stream *stream, struct pbin_choice choice,
                                     struct error *err)
{
    struct pbin_reader *r = mem_zalloc(1, sizeof *r);
    r->stream = stream;
    r->choice = choice;
    r->source = NO_SOURCE;
    r->strings = strings_new();
    r->all.strings = r->strings;
    r->end = UINT64_MAX;
    if (read_signature(r, err) == 0 && read_meta(r, err) == 0 &&
        (choice.value == NULL || choose_value(r, err) == 0))
        return r;
    pbin_reader_close(r);
    return NULL;
}

bool pbin_source_is_counter(const struct strings *strings, const struct pbin_source *source)
{
    return strcmp(strings_get(strings, source->kind), "energy") == 0;
}

bool pbin_reader_cut(const struct pbin_reader *r)
{
    return r->cut;
}

void pbin_reader_warn_cut(const struct pbin_reader *r, const char *name, struct reporter *reporter)
{
    char of[32] = "";
    bool rows = r->meta.keys != NULL;
    if (!r->cut)
        return;
    if (!rows && r->meta.samples > r->samples)
        snprintf(of, sizeof of, " of %" PRIu64, r->meta.samples);
    report_warning(reporter, "%s: 0x%" PRIx64 ": %s: kept the %" PRIu64 "%s %s before%s", name,
                   r->damage.offset, r->damage.text[0] != '\0' ? r->damage.text : "truncated",
                   rows ? r->rows : r->samples, of, rows ? "rows" : "samples",
                   !rows && r->samples == 0 ? ", as only whole blocks of samples can be read" : "");
}

struct stream *pbin_reader_stream(const struct pbin_reader *r)
{
    return r->stream;
}

const struct pbin_meta *pbin_reader_meta(const struct pbin_reader *r)
{
    return &r->meta;
}

const struct pbin_keys *pbin_reader_keys(const struct pbin_reader *r)
{
    return &r->keys;
}

const struct pbin_definitions *pbin_reader_definitions(const struct pbin_reader *r)
{
    return &r->all;
}

uint64_t pbin_reader_samples(const struct pbin_reader *r)
{
    return r->samples;
}
