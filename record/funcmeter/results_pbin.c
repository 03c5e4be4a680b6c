/* The sums over the calls of a metered program, as an aggregated pbin.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/pbin/pbin.h"
#include "record/funcmeter/results.h"

/* The measures of calls, in the order of pbin.5; without times there are only calls. */
enum {
    CALLS,
    RETURNED,
    UNWOUND,
    INSIDE,
    UNTIMED,
    INCLUSIVE,
    TOTAL,
    MIN,
    MAX,
    ENERGY,
    ERROR,
    VALUES
};
static const struct {
    const char *name;
    enum pbin_measure_join join;
} kinds[VALUES] = {{"calls", PBIN_ADD},
                   {"returned", PBIN_ADD},
                   {"unwound", PBIN_ADD},
                   {"inside", PBIN_ADD},
                   {"untimed", PBIN_ADD},
                   {"inclusive", PBIN_ADD_SAME},
                   {"total", PBIN_ADD},
                   {"min", PBIN_MIN},
                   {"max", PBIN_MAX},
                   {"inclusive_energy", PBIN_ADD_SAME},
                   {"energy_error", PBIN_ADD_SAME}};

/* A row, with its keys in order: process, program, thread, comm, binary and function, or only the
 * last two. */
struct line {
    const char *program, *comm, *binary, *function;
    uint64_t process, thread;
    exact time; /* [2^-32 ns] */
    exact value[VALUES];
    bool has[VALUES];
    uint64_t *histogram; /* LOG_BUCKETS values, owned, or NULL */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    int order = compare_numbers(a->process, b->process);
    if (order == 0)
        order = strcmp(a->program, b->program);
    if (order == 0)
        order = compare_numbers(a->thread, b->thread);
    if (order == 0)
        order = strcmp(a->comm, b->comm);
    if (order == 0)
        order = strcmp(a->binary, b->binary);
    return order != 0 ? order : strcmp(a->function, b->function);
}

static exact to_time(uint64_t ticks, double tick)
{
    return (exact)((double)ticks * tick * (double)((uint64_t)1 << TIME_SHIFT));
}

static exact to_measure(double value)
{
    return (exact)(value * (double)((uint64_t)1 << MEASURE_SHIFT));
}

static void set(struct line *line, int kind, exact value)
{
    line->value[kind] = value;
    line->has[kind] = true;
}

/* Sets the same times as in the table: times are unknown while all calls are still inside, and
 * times of single calls if none returned. */
static void set_times(struct line *line, const struct meter_sums *sums, double tick)
{
    const struct meter_record *r = &sums->record;
    if (r->returned + r->unwound == 0)
        return;
    line->time = to_time(r->self, tick);
    set(line, INCLUSIVE, to_time(r->inclusive, tick));
    if (sums->has_energy) {
        set(line, ENERGY, to_measure(sums->energy.joules));
        set(line, ERROR, to_measure(sums->energy.error));
    }
    if (r->returned == 0)
        return;
    set(line, TOTAL, to_time(r->total, tick));
    set(line, MIN, to_time(r->least, tick));
    set(line, MAX, to_time(r->most, tick));
    if (sums->histogram == NULL)
        return;
    line->histogram = mem_zalloc(LOG_BUCKETS, sizeof *line->histogram);
    memcpy(line->histogram, sums->histogram, LOG_BUCKETS * sizeof *line->histogram);
}

static struct line make_line(const struct meter_results *results, const struct meter_sums *sums,
                             const struct meter_function *function)
{
    const struct meter_record *r = &sums->record;
    struct line line = {.program = sums->program != NULL ? sums->program : "",
                        .comm = sums->thread_name != NULL ? sums->thread_name : "",
                        .binary = function->library,
                        .function = function->readable,
                        .process = sums->process,
                        .thread = sums->thread};
    set(&line, CALLS, (exact)r->calls);
    if (results->returns)
        set(&line, RETURNED, (exact)r->returned);
    if (!results->timing)
        return line;
    set(&line, RETURNED, (exact)r->returned);
    set(&line, UNWOUND, (exact)r->unwound);
    set(&line, INSIDE, (exact)sums->inside);
    set(&line, UNTIMED, (exact)r->untimed);
    if (!function->entries_only)
        set_times(&line, sums, results->tick);
    return line;
}

static void join_value(struct line *to, const struct line *from, int kind)
{
    exact mine = to->value[kind], theirs = from->value[kind];
    if (!from->has[kind])
        return;
    if (!to->has[kind])
        to->value[kind] = theirs;
    else if (kinds[kind].join == PBIN_MIN)
        to->value[kind] = theirs < mine ? theirs : mine;
    else if (kinds[kind].join == PBIN_MAX)
        to->value[kind] = theirs > mine ? theirs : mine;
    else
        to->value[kind] = mine + theirs;
    to->has[kind] = true;
}

static void join_lines(struct line *to, struct line *from)
{
    to->time += from->time;
    for (int i = 0; i < VALUES; i++)
        join_value(to, from, i);
    if (to->histogram == NULL) {
        to->histogram = from->histogram;
        return;
    }
    for (size_t i = 0; i < LOG_BUCKETS && from->histogram != NULL; i++)
        to->histogram[i] += from->histogram[i];
    free(from->histogram);
}

/* Makes sorted lines, and joins those with the same keys, because functions can have the same name.
 * Returns their number; caller frees. */
static size_t make_lines(const struct meter_results *results, const struct planner *planner,
                         struct line **lines)
{
    uint32_t functions;
    const struct meter_function *all = planner_functions(planner, &functions);
    struct line *list = mem_zalloc(results->count + 1, sizeof *list);
    for (size_t i = 0; i < results->count; i++)
        list[i] = make_line(results, &results->items[i], &all[results->items[i].function]);
    qsort(list, results->count, sizeof *list, compare_lines);
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++)
        if (count > 0 && compare_lines(&list[count - 1], &list[i]) == 0)
            join_lines(&list[count - 1], &list[i]);
        else
            list[count++] = list[i];
    *lines = list;
    return count;
}

static void put_line(const struct line *line, bool per_thread, struct pbin_writer *writer)
{
    struct pbin_row row = {.sums =
                               pbin_sums_of_run(0, (uint64_t)line->value[CALLS], line->time, 0)};
    size_t count = 0;
    if (per_thread) {
        row.key[count++] = line->process;
        row.key[count++] = pbin_define_string(writer, line->program);
        row.key[count++] = line->thread;
        row.key[count++] = pbin_define_string(writer, line->comm);
    }
    row.key[count++] = pbin_define_string(writer, line->binary);
    row.key[count++] = pbin_define_string(writer, line->function);
    pbin_put_row(writer, &row, count);
}

static uint32_t define(struct pbin_writer *writer, const char *name, const char *unit,
                       enum pbin_measure_type type, enum pbin_measure_join join)
{
    const struct pbin_measure measure = {pbin_define_string(writer, name),
                                         pbin_define_string(writer, unit), type, join};
    return pbin_define_measure(writer, &measure);
}

static void put_histogram(struct pbin_writer *writer, uint32_t row, uint32_t measure,
                          const uint64_t *counts)
{
    struct pbin_bucket buckets[LOG_BUCKETS];
    struct pbin_histogram histogram = {.row = row, .measure = measure, .buckets = buckets};
    for (uint32_t i = 0; i < LOG_BUCKETS && counts != NULL; i++)
        if (counts[i] > 0)
            buckets[histogram.count++] = (struct pbin_bucket){i, counts[i]};
    if (histogram.count > 0)
        pbin_put_histogram(writer, &histogram);
}

/* Returns the number of measures that the results have, which come first. */
static int kinds_of(const struct meter_results *results)
{
    if (!results->timing)
        return results->returns ? RETURNED + 1 : CALLS + 1;
    return results->energy ? VALUES : ENERGY;
}

static void put_measures(const struct line *lines, size_t count,
                         const struct meter_results *results, struct pbin_writer *writer)
{
    for (int kind = 0; kind < kinds_of(results); kind++) {
        const char *unit = kind < INCLUSIVE ? "" : kind < ENERGY ? "ns" : "J";
        uint32_t measure = define(writer, kinds[kind].name, unit,
                                  kind < INCLUSIVE ? PBIN_INTEGER : PBIN_REAL, kinds[kind].join);
        for (size_t i = 0; i < count; i++)
            if (lines[i].has[kind])
                pbin_put_measured(writer,
                                  &(struct pbin_measured){(uint32_t)i, measure,
                                                          pbin_value_of_run(lines[i].value[kind])});
    }
    if (!results->timing)
        return;
    uint32_t measure = define(writer, "duration", "ns", PBIN_HISTOGRAM, PBIN_ADD);
    for (size_t i = 0; i < count; i++)
        put_histogram(writer, (uint32_t)i, measure, lines[i].histogram);
}

int meter_results_write_pbin(const struct meter_results *results, const struct meter_arcs *arcs,
                             const struct planner *planner, const struct meter_run *run,
                             struct output *out)
{
    struct line *lines;
    size_t count = make_lines(results, planner, &lines);
    const struct pbin_meta meta = {
        .name = (char *)run->name,
        .target = (char *)run->target,
        .command = (char *)run->command,
        .dialect = (char *)"funcmeter",
        .tool = (char *)"funcmeter " PBIN_TOOLS_VERSION,
        .keys = (char *)(results->per_thread ? "process,program,thread,comm,binary,function"
                                             : "binary,function"),
        .wall_ns = run->wall_ns,
    };
    struct pbin_writer *writer = pbin_writer_open(out, &meta);
    struct pbin_run sums = {.name = pbin_define_string(writer, run->name), .wall_ns = run->wall_ns};
    for (size_t i = 0; i < count; i++)
        sums.time += lines[i].time;
    pbin_put_run(writer, &sums);
    for (size_t i = 0; i < count; i++)
        put_line(&lines[i], results->per_thread, writer);
    put_measures(lines, count, results, writer);
    meter_arcs_put(arcs, planner, writer);
    for (size_t i = 0; i < count; i++)
        free(lines[i].histogram);
    free(lines);
    return pbin_writer_close(writer, 0);
}
