/* Two run sets of a comparison.
 * SPDX-License-Identifier: MIT */
#include "plot/run_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/report_compare.h"
#include "base/memory.h"
#include "plot/names.h"
#include "plot/text.h"

/* ---- reading ---- */

static int choose_paths(struct run_sets *s, const struct plot *plot, struct error *err)
{
    const struct plot_options *o = plot->options;
    s->base_paths = o->bases;
    s->base_count = o->base_count;
    s->with_paths = o->with_count > 0 ? o->withs : o->inputs;
    s->with_count = o->with_count > 0 ? o->with_count : o->input_count;
    if (o->base_count == 0 && o->input_count > 0) {
        s->base_paths = o->inputs;
        s->base_count = 1;
        if (o->with_count == 0) {
            s->with_paths++;
            s->with_count--;
        }
    }
    if (s->base_count == 0 || s->with_count == 0)
        return error_set(
            err, NULL, NO_OFFSET,
            "a comparison needs a base and another profile: BASE OTHER..., or --base and --with");
    return 0;
}

/* The first profile determines the keys. */
static int read_first(struct run_sets *s, const struct plot *plot, struct error *err)
{
    struct compare_options options = compare_defaults;
    struct aggregate *first = ranking_read(plot, s->base_paths, 1, err);
    if (first == NULL)
        return -1;
    options.rules.aggregate = *aggregate_options_of(first);
    options.rules.choice = plot->options->choice;
    options.rules.maps = plot->options->maps;
    options.rules.map_count = plot->options->map_count;
    s->compare = compare_new(&options);
    run_set_add(compare_add_set(s->compare), first);
    aggregate_delete(first);
    return 0;
}

static int read_runs(struct run_set *set, const struct plot *plot, const char *const *paths,
                     size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (run_set_read(set, paths[i], plot->reporter, err) != 0)
            return -1;
    return 0;
}

static int read_all(struct run_sets *s, const struct plot *plot, struct error *err)
{
    if (choose_paths(s, plot, err) != 0 || read_first(s, plot, err) != 0 ||
        read_runs(&s->compare->sets[0], plot, s->base_paths + 1, s->base_count - 1, err) != 0 ||
        read_runs(compare_add_set(s->compare), plot, s->with_paths, s->with_count, err) != 0)
        return -1;
    compare_finish(s->compare);
    s->all = s->compare->count;
    return 0;
}

/* ---- what is compared ---- */

static int choose_metric(struct run_sets *s, const struct plot *plot, struct error *err)
{
    static const enum compare_metric of[METRICS] = {
        [METRIC_TIME] = COMPARE_TIME,   [METRIC_ENERGY] = COMPARE_ENERGY,
        [METRIC_POWER] = COMPARE_POWER, [METRIC_SAMPLES] = COMPARE_SAMPLES,
        [METRIC_CALLS] = COMPARE_CALLS, [METRIC_INCLUSIVE] = COMPARE_INCLUSIVE};
    const struct run_set *base = &s->compare->sets[0];
    enum row_metric metric;
    if (ranking_metric(plot, &base->quantity, base->total.energy != 0, &metric, err) != 0)
        return -1;
    if ((metric == METRIC_ENERGY || metric == METRIC_POWER) && s->compare->quantity.name == NULL)
        return error_set(err, s->with_paths[0], NO_OFFSET, "does not have the %s of the base",
                         base->quantity.name);
    s->metric = of[metric];
    s->metric_name = ranking_metric_name(&base->quantity, metric);
    s->unit = ranking_metric_unit(&base->quantity, metric);
    return 0;
}

static double value_of(const struct run_sets *s, size_t set, const struct run_set_row *row)
{
    double value = run_set_value(&s->compare->sets[set], row, s->metric);
    return isnan(value) ? 0 : value; /* the power of code that did not run */
}

int run_sets_read(struct run_sets *s, const struct plot *plot, struct error *err)
{
    *s = (struct run_sets){0};
    if (read_all(s, plot, err) != 0 || choose_metric(s, plot, err) != 0) {
        run_sets_free(s);
        return -1;
    }
    s->test = compare_test_of(s->compare, 1, s->metric);
    s->base_total = value_of(s, 0, &s->compare->sets[0].total);
    s->with_total = value_of(s, 1, &s->compare->sets[1].total);
    return 0;
}

/* ---- rows ---- */

static struct change change_of(const struct run_sets *s, const struct run_set_row *base,
                               const struct run_set_row *with)
{
    struct change c = {.base = value_of(s, 0, base), .with = value_of(s, 1, with), .error = NAN};
    c.difference = c.with - c.base;
    c.ratio = c.base != 0 ? c.with / c.base : c.with != 0 ? INFINITY : 1;
    return c;
}

/* A row of the comparison and the value that ranks it. */
struct candidate {
    size_t row;
    double by;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->by != b->by)
        return a->by > b->by ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row); /* rows are in order of their keys */
}

/* Caller frees. */
static struct candidate *rank(const struct run_sets *s)
{
    struct candidate *ranked = mem_zalloc(s->all + 1, sizeof *ranked);
    for (size_t i = 0; i < s->all; i++) {
        const struct run_set_row *const *set = s->compare->rows[i].set;
        ranked[i] = (struct candidate){i, fabs(change_of(s, set[0], set[1]).difference)};
    }
    qsort(ranked, s->all, sizeof *ranked, compare_candidates);
    return ranked;
}

static const char *text_of(const void *texts, uint64_t number)
{
    return strings_get(texts, (uint32_t)number);
}

static void name_rows(struct run_sets *s, const struct candidate *ranked, size_t count)
{
    struct name_source source = {compare_keys(s->compare), text_of, s->compare->texts};
    struct pbin_row *keys = mem_zalloc(count + 1, sizeof *keys);
    const struct pbin_row **rows = mem_zalloc(count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct run_set_row *const *set = s->compare->rows[ranked[i].row].set;
        memcpy(keys[i].key, set[set[0] == NULL]->key, sizeof keys[i].key);
        rows[i] = &keys[i];
    }
    char **names = names_make(&source, rows, count);
    for (size_t i = 0; i < count; i++)
        s->rows[i].name = names[i];
    free(names);
    free(rows);
    free(keys);
}

static void add_row(struct run_set_row *to, const struct run_set_row *row)
{
    if (row == NULL)
        return;
    to->time += row->time;
    to->energy += row->energy;
    to->samples += row->samples;
    run_set_calls_add(&to->calls, &row->calls);
}

/* The sum of the COUNT rows RANKED. */
static struct change rest_of(const struct run_sets *s, const struct candidate *ranked, size_t count)
{
    struct run_set_row sums[2] = {{.entries = NAN, .calls = RUN_SET_NO_CALLS},
                                  {.entries = NAN, .calls = RUN_SET_NO_CALLS}};
    for (size_t i = 0; i < count; i++)
        for (size_t set = 0; set < 2; set++)
            add_row(&sums[set], s->compare->rows[ranked[i].row].set[set]);
    struct change rest = change_of(s, &sums[0], &sums[1]);
    rest.name = mem_strdup(LABEL_OTHER);
    rest.result.p = NAN;
    rest.other = true;
    return rest;
}

void run_sets_limit(struct run_sets *s, size_t top)
{
    struct candidate *ranked = rank(s);
    struct significance *results = mem_zalloc(s->all + 1, sizeof *results);
    size_t kept = top == 0 || top > s->all ? s->all : top;
    compare_significance(s->compare, 1, s->metric, results);
    s->rows = mem_zalloc(kept + 1, sizeof *s->rows);
    for (s->count = 0; s->count < kept; s->count++) {
        size_t row = ranked[s->count].row;
        const struct run_set_row *const *set = s->compare->rows[row].set;
        s->rows[s->count] = change_of(s, set[0], set[1]);
        s->rows[s->count].error = compare_interval(s->compare, 1, s->metric, row);
        s->rows[s->count].result = results[row];
    }
    name_rows(s, ranked, kept);
    if (kept < s->all)
        s->rows[s->count++] = rest_of(s, ranked + kept, s->all - kept);
    free(ranked);
    free(results);
}

void run_sets_free(struct run_sets *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->rows[i].name);
    free(s->rows);
    compare_delete(s->compare);
    *s = (struct run_sets){0};
}

/* ---- texts ---- */

void run_sets_write(const struct run_sets *s, struct output *out)
{
    static const char *const names[] = {"base", "other"};
    struct compare_report report = {.metric = s->metric, .sort = SORT_DIFFERENCE, .names = names};
    report_compare(s->compare, &report, &table_csv, out);
}

/* The amount of detail about a run set. */
enum detail { DETAIL_RUNS, DETAIL_FILE, DETAIL_ALL };

static char *set_text(const char *const *paths, size_t count, size_t runs, enum detail detail)
{
    const char *slash = strrchr(paths[0], '/'), *file = slash != NULL ? slash + 1 : paths[0];
    if (detail == DETAIL_RUNS)
        return mem_printf("%zu run%s", runs, runs == 1 ? "" : "s");
    char *more =
        count > 1 && detail == DETAIL_ALL ? mem_printf(" and %zu more", count - 1) : mem_strdup("");
    char *text =
        runs > 1 ? mem_printf("%s%s (%zu runs)", file, more, runs) : mem_printf("%s%s", file, more);
    free(more);
    return text;
}

static char *both_texts(const struct run_sets *s, enum detail detail)
{
    const struct run_set *sets = s->compare->sets;
    char *base = set_text(s->base_paths, s->base_count, sets[0].runs, detail);
    char *with = set_text(s->with_paths, s->with_count, sets[1].runs, detail);
    char *text = mem_printf("%s against %s%s", with, detail == DETAIL_RUNS ? "" : "base ", base);
    free(base);
    free(with);
    return text;
}

char *run_sets_subtitle(const struct run_sets *s, double room, bool cells)
{
    bool single = s->compare->sets[0].runs <= 1 && s->compare->sets[1].runs <= 1;
    char *text = both_texts(s, DETAIL_ALL);
    for (int detail = DETAIL_FILE; text_width(text, cells) > room && detail >= (int)single;
         detail--) {
        free(text);
        text = both_texts(s, (enum detail)detail);
    }
    return text;
}
