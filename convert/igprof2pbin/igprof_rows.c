/* Writes the sums of a dump of IgProf as an aggregated pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/igprof2pbin/igprof_rows.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/labels.h"
#include "base/memory.h"
#include "convert/symbolize/demangle.h"
#include "formats/elf/elf_search.h"

/* A row. Functions with the same names share one. */
struct line {
    const char *binary;
    char *name; /* owned */
    struct tree_sums sums[IGPROF_MAX_COUNTERS];
};

struct lines {
    const struct igprof *igprof;
    struct line *items;
    size_t count;
    bool overflow;
};

/* Returns the displayed name: demangled or, for an unnamed function "@?0x7f...", its file and the
 * offset there. Caller frees. */
static char *name_of(const struct igprof *g, const struct igprof_function *f,
                     struct demangle_costs *costs)
{
    const char *name = strings_get(igprof_texts(g), f->name);
    if (strncmp(name, "@?", 2) == 0)
        return mem_printf("%s!0x%" PRIx64, elf_base_name(strings_get(igprof_texts(g), f->path)),
                          f->offset);
    char *readable = demangle(name, costs);
    return readable != NULL ? readable : mem_strdup(name);
}

static int compare(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    int order = strcmp(a->binary, b->binary);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static void join_value(struct lines *l, size_t counter, uint64_t *to, uint64_t from)
{
    if (counter < igprof_counter_count(l->igprof) &&
        igprof_counter_is_largest(l->igprof, (uint32_t)counter))
        *to = from > *to ? from : *to;
    else
        l->overflow |= __builtin_add_overflow(*to, from, to);
}

static void join(struct lines *l, struct line *to, struct line *from)
{
    for (size_t i = 0; i < IGPROF_MAX_COUNTERS; i++) {
        struct tree_sums *a = &to->sums[i], *b = &from->sums[i];
        l->overflow |= __builtin_add_overflow(a->ticks, b->ticks, &a->ticks);
        join_value(l, i, &a->value, b->value);
        join_value(l, i, &a->inclusive, b->inclusive);
        a->peak = b->peak > a->peak ? b->peak : a->peak;
    }
    free(from->name);
}

static void make_lines(struct lines *l, const struct call_tree *tree)
{
    size_t functions;
    struct demangle_costs costs = {0};
    const struct igprof_function *all = igprof_functions(l->igprof, &functions);
    l->items = mem_zalloc(functions + 1, sizeof *l->items);
    for (size_t i = 0; i < functions; i++) {
        struct line *line = &l->items[i];
        line->binary = elf_base_name(strings_get(igprof_texts(l->igprof), all[i].path));
        line->name = name_of(l->igprof, &all[i], &costs);
        memcpy(line->sums, call_tree_get(tree, i, 0), sizeof line->sums);
    }
    qsort(l->items, functions, sizeof *l->items, compare);
    for (size_t i = 0; i < functions; i++)
        if (l->count > 0 && compare(&l->items[l->count - 1], &l->items[i]) == 0)
            join(l, &l->items[l->count - 1], &l->items[i]);
        else
            l->items[l->count++] = l->items[i];
}

/* ---- measures ---- */

enum part { TICKS, VALUE, PEAK, INCLUSIVE, PARTS };

/* Returns whether PART of COUNTER contains information. Ticks and counts have no separate number,
 * and only releasable resources have a peak. */
static bool has_part(const char *counter, enum part part)
{
    size_t length = strlen(counter);
    bool counts = strcmp(counter, "PERF_TICKS") == 0 ||
                  (length > 6 && strcmp(counter + length - 6, "_COUNT") == 0);
    bool grows = counts || strcmp(counter, "MEM_MAX") == 0 || strcmp(counter, "MEM_TOTAL") == 0 ||
                 strcmp(counter, "CALLS_TOTAL") == 0;
    return part == TICKS ? !counts : part == PEAK ? !grows : true;
}

static uint64_t part_of(const struct tree_sums *sums, enum part part)
{
    return part == TICKS   ? sums->ticks
           : part == VALUE ? sums->value
           : part == PEAK  ? sums->peak
                           : sums->inclusive;
}

/* Converts "MEM_LIVE" to "mem_live" followed by ENDING. If this must be shortened or changed,
 * NUMBER distinguishes it from the names of other counters. Caller frees. */
static char *measure_name(const char *counter, const char *ending, size_t number)
{
    char *name = mem_printf("%s%s", counter, ending);
    bool fits = strlen(name) <= PBIN_MEASURE_NAME && isalpha((unsigned char)name[0]);
    for (char *c = name; *c != '\0'; c++) {
        fits &= *c == '_' || isdigit((unsigned char)*c) || isupper((unsigned char)*c) ||
                c >= name + strlen(counter);
        *c = (char)tolower((unsigned char)*c);
    }
    if (fits)
        return name;
    free(name);
    return mem_printf("counter_%zu%s", number, ending);
}

/* Writes the values of one part of a counter, for all rows that have it, as the measure NAME. */
static void put_measure(const struct lines *l, size_t counter, enum part part, const char *name,
                        struct pbin_writer *writer)
{
    static const enum pbin_measure_join joins[PARTS] = {
        [TICKS] = PBIN_ADD, [VALUE] = PBIN_ADD, [PEAK] = PBIN_MAX, [INCLUSIVE] = PBIN_ADD_SAME};
    const char *of = igprof_counter(l->igprof, (uint32_t)counter);
    bool largest = igprof_counter_is_largest(l->igprof, (uint32_t)counter) && part != TICKS;
    bool bytes = part != TICKS && strncmp(of, "MEM_", 4) == 0;
    const struct pbin_measure measure = {.name = pbin_define_string(writer, name),
                                         .unit = pbin_define_string(writer, bytes ? "B" : ""),
                                         .join = largest ? PBIN_MAX : joins[part]};
    uint32_t number = pbin_define_measure(writer, &measure);
    for (size_t i = 0; i < l->count; i++) {
        uint64_t value = part_of(&l->items[i].sums[counter], part);
        struct pbin_measured measured = {(uint32_t)i, number, pbin_value_of_run((exact)value)};
        if (value > 0)
            pbin_put_measured(writer, &measured);
    }
}

/* Returns the number of the counter called NAME, or -1. */
static int find(const struct igprof *g, const char *name)
{
    for (size_t i = 0; i < igprof_counter_count(g); i++)
        if (strcmp(igprof_counter(g, (uint32_t)i), name) == 0)
            return (int)i;
    return -1;
}

/* Returns the time of COUNT ticks, at most 2^40. */
static exact time_of(const struct lines *l, uint64_t count)
{
    return (exact)count * exact_of_double(igprof_tick(l->igprof) * 1e9, TIME_SHIFT);
}

static void put_inclusive(const struct lines *l, struct pbin_writer *writer)
{
    int ticks = find(l->igprof, "PERF_TICKS");
    const struct pbin_measure measure = {.name = pbin_define_string(writer, "inclusive"),
                                         .unit = pbin_define_string(writer, "ns"),
                                         .type = PBIN_REAL,
                                         .join = PBIN_ADD_SAME};
    uint32_t number = pbin_define_measure(writer, &measure);
    for (size_t i = 0; i < l->count; i++) {
        exact time = time_of(l, l->items[i].sums[ticks].inclusive);
        struct pbin_measured measured = {(uint32_t)i, number, pbin_value_of_run(time)};
        pbin_put_measured(writer, &measured);
    }
}

static void put_measures(const struct lines *l, struct pbin_writer *writer)
{
    static const char *const endings[PARTS] = {"_calls", "", "_peak", "_inclusive"};
    if (find(l->igprof, "PERF_TICKS") >= 0)
        put_inclusive(l, writer);
    for (size_t c = 0; c < igprof_counter_count(l->igprof); c++)
        for (int part = TICKS; part < PARTS; part++) {
            const char *counter = igprof_counter(l->igprof, (uint32_t)c);
            char *name = measure_name(counter, endings[part], c);
            if (has_part(counter, (enum part)part))
                put_measure(l, c, (enum part)part, name, writer);
            free(name);
        }
}

/* ---- rows ---- */

/* Returns the sums of LINE: ticks of the performance profiler are time and samples. */
static struct pbin_sums sums_of(const struct lines *l, const struct line *line)
{
    int ticks = find(l->igprof, "PERF_TICKS");
    exact time = 0, samples = 0;
    if (ticks >= 0) {
        samples = (exact)line->sums[ticks].value << SAMPLES_SHIFT;
        time = time_of(l, line->sums[ticks].value);
    }
    return pbin_sums_of_run(samples, UINT64_MAX, time, 0);
}

static void put_rows(const struct lines *l, const char *name, struct pbin_writer *writer)
{
    struct pbin_run run = {.name = pbin_define_string(writer, name)};
    for (size_t i = 0; i < l->count; i++) {
        struct pbin_sums sums = sums_of(l, &l->items[i]);
        run.time += sums.time;
        run.samples += (uint64_t)(sums.samples >> SAMPLES_SHIFT);
    }
    pbin_put_run(writer, &run);
    for (size_t i = 0; i < l->count; i++) {
        const struct pbin_row row = {
            .key = {pbin_define_string(writer, label_unlike(l->items[i].binary)),
                    pbin_define_string(writer, label_unlike(l->items[i].name))},
            .sums = sums_of(l, &l->items[i])};
        pbin_put_row(writer, &row, 2);
    }
}

/* Checks that there are at most 2^40 ticks, so that their time [2^-32 ns] fits into 128 bits, with
 * room for squares. Returns 0, or -1 with ERR filled. */
static int check(const struct lines *l, const struct call_tree *tree, const char *file,
                 struct error *err)
{
    int ticks = find(l->igprof, "PERF_TICKS");
    uint64_t sum = 0;
    bool large = l->overflow || tree->overflow;
    for (size_t i = 0; i < l->count && ticks >= 0; i++)
        large |= __builtin_add_overflow(sum, l->items[i].sums[ticks].value, &sum) ||
                 sum > UINT64_C(1) << 40;
    return large ? error_set(err, file, NO_OFFSET, "sums too large to add exactly") : 0;
}

int igprof_rows_write(const struct igprof *g, const struct call_tree *tree, const char *file,
                      const char *name, struct output *out, struct error *err)
{
    struct lines l = {.igprof = g};
    make_lines(&l, tree);
    int result = check(&l, tree, file, err);
    if (result == 0) {
        const struct pbin_meta meta = {.name = (char *)name,
                                       .target = (char *)igprof_program(g),
                                       .dialect = (char *)"igprof",
                                       .tool = (char *)"igprof2pbin " PBIN_TOOLS_VERSION,
                                       .keys = (char *)"binary,function",
                                       .cpu_time = find(g, "PERF_TICKS") >= 0};
        struct pbin_writer *writer = pbin_writer_open(out, &meta);
        put_rows(&l, name, writer);
        put_measures(&l, writer);
        result = pbin_writer_close(writer, 0);
    }
    for (size_t i = 0; i < l.count; i++)
        free(l.items[i].name);
    free(l.items);
    return result;
}
