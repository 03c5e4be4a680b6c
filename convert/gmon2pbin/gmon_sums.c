/* Adds up gmon.out files.
 * SPDX-License-Identifier: MIT */
#include "convert/gmon2pbin/gmon_sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/labels.h"
#include "base/intern.h"
#include "base/memory.h"
#include "convert/symbolize/demangle.h"

/* The key of a row; all fields are filled, so that the bytes are the key. */
struct row_key {
    uint32_t binary, function;
    uint64_t pc;
};

struct row_sum {
    struct row_key key;
    uint32_t inner, file, line; /* texts, from the first program with the row */
    exact samples;              /* [2^-64] */
    exact time;                 /* [2^-32 ns] */
};

struct arc_key {
    uint32_t caller_binary, caller, callee_binary, callee;
};

struct arc_sum {
    struct arc_key key;
    uint64_t count;
};

struct gmon_sums {
    struct strings *texts;   /* displayed names of binaries and functions */
    struct strings *linkage; /* linkage names ... */
    uint32_t *names;         /* ... as numbers in texts */
    size_t name_capacity;
    struct strings *row_keys, *arc_keys; /* the number is one more than the index */
    struct row_sum *rows;
    struct arc_sum *arcs;
    size_t row_count, row_capacity, arc_count, arc_capacity;
    uint64_t samples;
    struct demangle_costs costs;
};

struct gmon_sums *gmon_sums_new(void)
{
    struct gmon_sums *s = mem_zalloc(1, sizeof *s);
    s->texts = strings_new();
    s->linkage = strings_new();
    s->row_keys = strings_new();
    s->arc_keys = strings_new();
    mem_reserve(&s->names, &s->name_capacity, 1, sizeof *s->names);
    s->names[0] = 0;
    return s;
}

void gmon_sums_delete(struct gmon_sums *s)
{
    if (s == NULL)
        return;
    strings_delete(s->texts);
    strings_delete(s->linkage);
    strings_delete(s->row_keys);
    strings_delete(s->arc_keys);
    free(s->names);
    free(s->rows);
    free(s->arcs);
    free(s);
}

/* Returns the number of the displayed form of a linkage name. */
static uint32_t name_of(struct gmon_sums *s, const char *linkage)
{
    uint32_t known = strings_count(s->linkage);
    uint32_t number = strings_intern(s->linkage, linkage);
    if (number < known)
        return s->names[number];
    char *text = demangle(linkage, &s->costs);
    mem_reserve(&s->names, &s->name_capacity, (size_t)number + 1, sizeof *s->names);
    const char *name = text != NULL ? text : linkage;
    if (!label_is_nameless(name, true))
        name = label_unlike(name);
    s->names[number] = strings_intern(s->texts, name);
    free(text);
    return s->names[number];
}

/* ---- histograms ---- */

/* The histogram that is being divided. Positions are counted from its low address in units of 1 /
 * bin_count byte, so that every border between bins is an integer, I * SPAN. */
struct sharing {
    struct gmon_sums *sums;
    const struct gmon_program *program;
    uint32_t binary;
    uint64_t low; /* address of the file */
    uint64_t span, bin_count;
    uint32_t rate;
    uint64_t ticks; /* of the previous bins */
};

static void add_share(struct sharing *h, uint64_t pc, const char *name, exact samples, exact time)
{
    struct gmon_sums *s = h->sums;
    const struct row_key key = {h->binary, name_of(s, name), pc};
    uint32_t index = strings_intern_bytes(s->row_keys, (const char *)&key, sizeof key) - 1;
    if (index == s->row_count)
        *MEM_APPEND(s->rows, s->row_count, s->row_capacity) =
            (struct row_sum){.key = key, .inner = key.function};
    s->rows[index].samples += samples;
    s->rows[index].time += time;
}

/* Returns the time of the first TICKS samples: its differences add up to the time of all samples,
 * whatever the rate. */
static exact time_of(const struct sharing *h, uint64_t ticks)
{
    return h->rate == 0 ? 0 : ((exact)ticks * 1000000000 << TIME_SHIFT) / h->rate;
}

/* Divides the COUNT samples of bin INDEX among the pieces of code in it; the last one gets the
 * rest. */
static void share_bin(struct sharing *h, uint64_t index, unsigned count)
{
    const exact begin = (exact)index * h->span, end = begin + h->span;
    exact samples = (exact)count << SAMPLES_SHIFT;
    exact time = time_of(h, h->ticks + count) - time_of(h, h->ticks);
    const exact all_samples = samples, all_time = time;
    h->ticks += count;
    for (exact at = begin; at < end;) {
        uint64_t last;
        const char *name;
        uint64_t offset = (uint64_t)(at / h->bin_count);
        gmon_program_piece(h->program, h->low + offset, &last, &name);
        uint64_t first = at % h->bin_count == 0 ? offset : offset + 1;
        /* if the address space ends before the bin, the piece extends beyond it */
        exact to =
            last - (h->low + offset) >= h->span ? end : (exact)(last - h->low + 1) * h->bin_count;
        if (to >= end) {
            add_share(h, h->low + first, name, samples, time);
            return;
        }
        exact share = all_samples * (to - at) / h->span,
              share_time = all_time * (to - at) / h->span;
        add_share(h, h->low + first, name, share, share_time);
        samples -= share;
        time -= share_time;
        at = to;
    }
}

/* Warns of samples at addresses where PROGRAM has no code: it is not the program that ran. */
static void warn_outside(const struct sharing *h, const struct gmon *g, uint64_t outside,
                         struct reporter *reporter)
{
    if (outside == 0 || h->ticks == 0)
        return;
    report_warning(reporter,
                   "%s: %" PRIu64 " of %" PRIu64
                   " samples are outside the code of %s: is it the program that ran?",
                   g->name, outside, h->ticks, gmon_program_name(h->program));
}

static void share_histogram(struct gmon_sums *s, const struct gmon *g,
                            const struct gmon_histogram *from, const struct gmon_program *program,
                            uint32_t rate, struct reporter *reporter)
{
    struct sharing h = {.sums = s,
                        .program = program,
                        .binary =
                            strings_intern(s->texts, label_unlike(gmon_program_name(program))),
                        .low = gmon_program_address(program, from->low),
                        .span = from->high - from->low,
                        .bin_count = from->bin_count,
                        .rate = rate != 0 ? rate : from->rate};
    uint64_t outside = 0;
    for (uint64_t i = 0; i < from->there; i++) {
        unsigned count = gmon_bin(g, from, i);
        if (count == 0)
            continue;
        uint64_t first = h.low + (uint64_t)((exact)i * h.span / h.bin_count);
        uint64_t last = h.low + (uint64_t)(((exact)i * h.span + h.span - 1) / h.bin_count);
        if (!gmon_program_is_code(program, first) && !gmon_program_is_code(program, last))
            outside += count;
        share_bin(&h, i, count);
    }
    s->samples += h.ticks;
    warn_outside(&h, g, outside, reporter);
    if (h.rate == 0 && h.ticks > 0)
        report_warning(reporter,
                       "%s: unknown sampling rate: samples have no time (-r HZ sets the rate)",
                       g->name);
}

/* ---- calls ---- */

static uint32_t function_at(struct gmon_sums *s, const struct gmon_program *program,
                            uint64_t recorded)
{
    uint64_t last;
    const char *name;
    gmon_program_piece(program, gmon_program_address(program, recorded), &last, &name);
    return name_of(s, name);
}

static int add_call(struct gmon_sums *s, const struct gmon *g, const struct gmon_call *call,
                    const struct gmon_program *program, struct error *err)
{
    uint32_t binary = strings_intern(s->texts, label_unlike(gmon_program_name(program)));
    const struct arc_key key = {binary, function_at(s, program, call->from), binary,
                                function_at(s, program, call->self)};
    uint32_t index = strings_intern_bytes(s->arc_keys, (const char *)&key, sizeof key) - 1;
    if (index == s->arc_count)
        *MEM_APPEND(s->arcs, s->arc_count, s->arc_capacity) = (struct arc_sum){.key = key};
    if (__builtin_add_overflow(s->arcs[index].count, call->count, &s->arcs[index].count))
        return error_set(err, g->name, NO_OFFSET, "more than 2^64 calls from %s to %s",
                         strings_get(s->texts, key.caller), strings_get(s->texts, key.callee));
    return 0;
}

/* Finds the source positions of the rows, beginning with number FIRST. */
static void find_lines(struct gmon_sums *s, size_t first, struct gmon_program *program)
{
    size_t count = s->row_count - first;
    uint64_t *addresses = mem_zalloc(count, sizeof *addresses);
    struct gmon_line *lines = mem_zalloc(count, sizeof *lines);
    for (size_t i = 0; i < count; i++)
        addresses[i] = s->rows[first + i].key.pc;
    gmon_program_lines(program, addresses, count, lines);
    for (size_t i = 0; i < count; i++) {
        struct row_sum *row = &s->rows[first + i];
        if (lines[i].inner != NULL)
            row->inner = strings_intern(s->texts, lines[i].inner);
        row->file = strings_intern(s->texts, lines[i].file);
        row->line = lines[i].line;
    }
    free(addresses);
    free(lines);
}

int gmon_sums_add(struct gmon_sums *s, const struct gmon *g, struct gmon_program *program,
                  uint32_t rate, struct reporter *reporter, struct error *err)
{
    size_t known = s->row_count;
    for (size_t i = 0; i < g->histogram_count; i++)
        share_histogram(s, g, &g->histograms[i], program, rate, reporter);
    find_lines(s, known, program);
    for (size_t i = 0; i < g->call_count; i++)
        if (add_call(s, g, &g->calls[i], program, err) != 0)
            return -1;
    return 0;
}

/* ---- writing ---- */

uint64_t gmon_sums_samples(const struct gmon_sums *s)
{
    return s->samples;
}

static exact all_time(const struct gmon_sums *s)
{
    exact time = 0;
    for (size_t i = 0; i < s->row_count; i++)
        time += s->rows[i].time;
    return time;
}

uint64_t gmon_sums_time(const struct gmon_sums *s)
{
    exact ns = all_time(s) >> TIME_SHIFT;
    return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

void gmon_sums_set_time(struct gmon_sums *s, exact time)
{
    const exact all = (exact)s->samples << SAMPLES_SHIFT;
    exact samples = 0, given = 0;
    for (size_t i = 0; i < s->row_count && all > 0; i++) {
        samples += s->rows[i].samples;
        exact until = samples == all
                          ? time
                          : (exact)((long double)time * ((long double)samples / (long double)all));
        s->rows[i].time = until - given;
        given = until;
    }
}

static int compare_rows(const void *left, const void *right, void *opaque)
{
    const struct row_sum *a = left, *b = right;
    const struct strings *texts = opaque;
    const uint32_t mine[] = {a->key.binary, a->key.function, a->inner, a->file};
    const uint32_t theirs[] = {b->key.binary, b->key.function, b->inner, b->file};
    int order = 0;
    for (int i = 0; i < 4 && order == 0; i++)
        order = strcmp(strings_get(texts, mine[i]), strings_get(texts, theirs[i]));
    if (order == 0 && a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return order != 0 ? order : a->key.pc < b->key.pc ? -1 : a->key.pc > b->key.pc;
}

static int compare_arcs(const void *left, const void *right, void *opaque)
{
    const uint32_t *a = (const uint32_t *)&((const struct arc_sum *)left)->key;
    const uint32_t *b = (const uint32_t *)&((const struct arc_sum *)right)->key;
    const struct strings *texts = opaque;
    int order = 0;
    for (int i = 0; i < 4 && order == 0; i++)
        order = strcmp(strings_get(texts, a[i]), strings_get(texts, b[i]));
    return order;
}

static void put_row(const struct gmon_sums *s, const struct row_sum *from,
                    struct pbin_writer *writer)
{
    struct pbin_row row = {
        .key = {pbin_define_string(writer, strings_get(s->texts, from->key.binary)),
                pbin_define_string(writer, strings_get(s->texts, from->key.function)),
                pbin_define_string(writer, strings_get(s->texts, from->inner)),
                pbin_define_string(writer, strings_get(s->texts, from->file)), from->line,
                from->key.pc},
        .sums = pbin_sums_of_run(from->samples, UINT64_MAX, from->time, 0)};
    pbin_put_row(writer, &row, 6);
}

static void put_arc(const struct gmon_sums *s, const struct arc_sum *from,
                    struct pbin_writer *writer)
{
    const struct pbin_arc arc = {
        pbin_define_string(writer, strings_get(s->texts, from->key.caller_binary)),
        pbin_define_string(writer, strings_get(s->texts, from->key.caller)),
        pbin_define_string(writer, strings_get(s->texts, from->key.callee_binary)),
        pbin_define_string(writer, strings_get(s->texts, from->key.callee)), from->count};
    pbin_put_arc(writer, &arc);
}

void gmon_sums_write(const struct gmon_sums *s, const struct pbin_meta *meta,
                     struct pbin_writer *writer)
{
    struct pbin_run run = {.name = pbin_define_string(writer, meta->name),
                           .wall_ns = meta->wall_ns,
                           .samples = meta->samples,
                           .time = all_time(s)};
    if (s->row_count > 0)
        qsort_r(s->rows, s->row_count, sizeof *s->rows, compare_rows, s->texts);
    if (s->arc_count > 0)
        qsort_r(s->arcs, s->arc_count, sizeof *s->arcs, compare_arcs, s->texts);
    pbin_put_run(writer, &run);
    for (size_t i = 0; i < s->row_count; i++)
        put_row(s, &s->rows[i], writer);
    for (size_t i = 0; i < s->arc_count; i++)
        put_arc(s, &s->arcs[i], writer);
}
