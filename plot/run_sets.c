/* The run sets of a comparison.
 * SPDX-License-Identifier: MIT */
#include "plot/run_sets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/ranked.h"
#include "plot/names.h"
#include "plot/text.h"

/* ---- reading ---- */

static void add_side(struct run_sets *s, const char *const *paths, size_t count)
{
    s->sides[s->side_count++] = (struct side_files){.paths = paths, .count = count};
}

/* Adds the sides of --with, or each file that does not belong to the base. Returns 0, or -1 with
 * ERR filled. */
static int choose_paths(struct run_sets *s, const struct plot *plot, struct error *err)
{
    const struct plot_options *o = plot->options;
    size_t first = o->base_count == 0 ? 1 : 0; /* first of the inputs that are not the base */
    s->sides = mem_zalloc(o->input_count + o->side_count + 2, sizeof *s->sides);
    if (o->base_count > 0)
        add_side(s, o->bases, o->base_count);
    else if (o->input_count > 0)
        add_side(s, o->inputs, 1);
    for (size_t i = 0; i < o->side_count; i++) {
        size_t end = i + 1 < o->side_count ? o->with_begins[i + 1] : o->with_count;
        add_side(s, o->withs + o->with_begins[i], end - o->with_begins[i]);
    }
    for (size_t i = first; o->side_count == 0 && i < o->input_count; i++)
        add_side(s, o->inputs + i, 1);
    if (s->side_count < 2)
        return error_set_usage(
            err, NULL,
            "a comparison needs a base and another profile: BASE OTHER..., or --base and --with");
    if (s->side_count > MAX_RUN_SETS)
        return error_set_usage(err, NULL, "more than %d sides: runs of a side follow --with",
                               MAX_RUN_SETS);
    return 0;
}

/* Names each side by its file without folder and suffix, or by its number if another side has the
 * same name. */
static void name_sides(struct run_sets *s)
{
    for (size_t i = 0; i < s->side_count; i++) {
        const char *path = s->sides[i].paths[0], *slash = strrchr(path, '/');
        const char *file = slash != NULL ? slash + 1 : path, *dot = strstr(file, ".pbin");
        size_t length = dot != NULL && dot > file ? (size_t)(dot - file) : strlen(file);
        char *name = mem_strndup(file, length);
        for (size_t j = 1; j < i; j++)
            if (strcmp(s->sides[j].name, name) == 0) {
                free(name);
                name = mem_printf("%.*s #%zu", (int)length, file, i);
                break;
            }
        s->sides[i].name = name;
    }
}

/* Reads the first profile, which determines the keys. Returns 0, or -1 with ERR filled. */
static int read_first(struct run_sets *s, const struct plot *plot, struct error *err)
{
    struct compare_options options = compare_defaults;
    struct aggregate *first = ranking_read(plot, s->sides[0].paths, 1, err);
    if (first == NULL)
        return -1;
    options.rules.aggregate = *aggregate_options_of(first);
    options.rules.choice = plot->options->choice;
    options.rules.maps = plot->options->maps;
    options.rules.map_count = plot->options->map_count;
    s->compare = compare_new(&options);
    int result = run_set_add(compare_add_set(s->compare), first, s->sides[0].paths[0], err);
    aggregate_delete(first);
    return result;
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
    if (choose_paths(s, plot, err) != 0 || read_first(s, plot, err) != 0)
        return -1;
    for (size_t i = 0; i < s->side_count; i++) {
        struct run_set *set = i > 0 ? compare_add_set(s->compare) : &s->compare->sets[0];
        bool read = i == 0; /* the first file of the base */
        if (read_runs(set, plot, s->sides[i].paths + read, s->sides[i].count - read, err) != 0)
            return -1;
    }
    if (compare_check_attribution(s->compare, plot->reporter, err) != 0)
        return -1;
    name_sides(s);
    compare_finish(s->compare);
    s->all = s->compare->count;
    return 0;
}

/* ---- metric and totals ---- */

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
        return error_set(err, s->sides[1].paths[0], NO_OFFSET, "does not have the %s of the base",
                         base->quantity.name);
    s->metric = of[metric];
    s->metric_name = ranking_metric_name(&base->quantity, metric);
    s->unit = ranking_metric_unit(&base->quantity, metric);
    return compare_check_calls(s->compare, s->metric, err);
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
    for (size_t i = 1; i < s->side_count && s->test == TEST_NONE; i++)
        s->test = compare_test_of(s->compare, i, s->metric);
    for (size_t i = 0; i < s->side_count; i++)
        s->sides[i].total = value_of(s, i, &s->compare->sets[i].total);
    const struct plot_options *o = plot->options;
    s->report = (struct compare_report){.metric = s->metric,
                                        .has_error = o->has_error,
                                        .error = o->error,
                                        .sort = SORT_DIFFERENCE,
                                        .other_weights = o->other_weights};
    return 0;
}

/* ---- rows ---- */

static struct change change_of(const struct run_sets *s, size_t side,
                               const struct run_set_row *base, const struct run_set_row *with)
{
    struct change c = {
        .side = side, .base = value_of(s, 0, base), .with = value_of(s, side, with), .error = NAN};
    c.difference = c.with - c.base;
    c.ratio = c.base != 0 ? c.with / c.base : c.with != 0 ? INFINITY : 1;
    c.tested = compare_test_of(s->compare, side, s->metric) != TEST_NONE;
    return c;
}

/* Returns the rows of the comparison, sorted by their largest change; the comparison has them in
 * the order of their keys. Caller frees. */
static struct ranked *rank(const struct run_sets *s)
{
    struct ranked *ranked = mem_zalloc(s->all + 1, sizeof *ranked);
    for (size_t i = 0; i < s->all; i++) {
        const struct run_set_row *const *set = s->compare->rows[i].set;
        ranked[i] = (struct ranked){.index = i};
        for (size_t side = 1; side < s->side_count; side++)
            ranked[i].amount =
                fmax(ranked[i].amount, fabs(change_of(s, side, set[0], set[side]).difference));
    }
    ranked_sort(ranked, s->all);
    return ranked;
}

static const char *text_of(const void *texts, uint64_t number)
{
    return strings_get(texts, (uint32_t)number);
}

/* Returns NAME, with the name of SIDE if there are several. Caller frees. */
static char *name_of_side(const struct run_sets *s, const char *name, size_t side)
{
    return s->side_count > 2 ? mem_printf("%s [%s]", name, s->sides[side].name) : mem_strdup(name);
}

static void name_rows(struct run_sets *s, const struct ranked *ranked, size_t count)
{
    struct name_source source = {compare_keys(s->compare), text_of, s->compare->texts};
    struct pbin_row *keys = mem_zalloc(count + 1, sizeof *keys);
    const struct pbin_row **rows = mem_zalloc(count + 1, sizeof *rows);
    size_t others = s->side_count - 1;
    for (size_t i = 0; i < count; i++) {
        const struct run_set_row *const *set = s->compare->rows[ranked[i].index].set;
        while (*set == NULL)
            set++;
        memcpy(keys[i].key, (*set)->key, sizeof keys[i].key);
        rows[i] = &keys[i];
    }
    char **names = names_make(&source, rows, count);
    for (size_t i = 0; i < count * others; i++)
        s->rows[i].name = name_of_side(s, names[i / others], s->rows[i].side);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
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

/* Returns the sum of the COUNT rows RANKED, for SIDE. */
static struct change rest_of(const struct run_sets *s, size_t side, const struct ranked *ranked,
                             size_t count)
{
    struct run_set_row sums[2] = {{.entries = NAN, .calls = RUN_SET_NO_CALLS},
                                  {.entries = NAN, .calls = RUN_SET_NO_CALLS}};
    for (size_t i = 0; i < count; i++)
        for (size_t set = 0; set < 2; set++)
            add_row(&sums[set], s->compare->rows[ranked[i].index].set[set == 0 ? 0 : side]);
    struct change rest = change_of(s, side, &sums[0], &sums[1]);
    rest.name = name_of_side(s, LABEL_OTHER, side);
    rest.result.p = NAN;
    rest.other = true;
    return rest;
}

/* Fills the KEPT rows for SIDE, which has RESULTS. */
static void fill_side(struct run_sets *s, size_t side, const struct significance *results,
                      const struct ranked *ranked, size_t kept)
{
    size_t others = s->side_count - 1;
    for (size_t i = 0; i < kept; i++) {
        size_t row = ranked[i].index;
        const struct run_set_row *const *set = s->compare->rows[row].set;
        struct change *change = &s->rows[i * others + side - 1];
        *change = change_of(s, side, set[0], set[side]);
        change->error = compare_interval(s->compare, side, s->metric, row);
        change->result = results[row];
        change->label = compare_is_label(s->compare, &s->compare->rows[row]);
    }
}

void run_sets_limit(struct run_sets *s, size_t top)
{
    struct ranked *ranked = rank(s);
    size_t kept = top == 0 || top > s->all ? s->all : top, others = s->side_count - 1;
    s->rows = mem_zalloc((kept + 1) * others, sizeof *s->rows);
    s->count = kept * others;
    struct significance *results = compare_significance(s->compare, s->metric);
    for (size_t side = 1; side < s->side_count; side++)
        fill_side(s, side, results + side * (s->compare->count + 1), ranked, kept);
    free(results);
    name_rows(s, ranked, kept);
    for (size_t side = 1; kept < s->all && side < s->side_count; side++)
        s->rows[s->count++] = rest_of(s, side, ranked + kept, s->all - kept);
    free(ranked);
}

void run_sets_free(struct run_sets *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->rows[i].name);
    free(s->rows);
    for (size_t i = 0; i < s->side_count; i++)
        free(s->sides[i].name);
    free(s->sides);
    compare_delete(s->compare);
    *s = (struct run_sets){0};
}

/* ---- texts ---- */

void run_sets_write(const struct run_sets *s, struct output *out)
{
    char texts[MAX_RUN_SETS][32] = {"base", "other"};
    const char *names[MAX_RUN_SETS];
    for (size_t i = 0; i < s->side_count; i++) {
        if (i > 0 && s->side_count > 2)
            snprintf(texts[i], sizeof texts[i], "other%zu", i);
        names[i] = texts[i];
    }
    struct compare_report report = s->report;
    report.names = names;
    report_compare(s->compare, &report, &table_csv, out);
}

/* The amount of detail about a run set. */
enum detail { DETAIL_RUNS, DETAIL_FILE, DETAIL_ALL };

static char *set_text(const char *const *paths, size_t count, size_t runs, enum detail detail)
{
    const char *slash = strrchr(paths[0], '/'), *file = slash != NULL ? slash + 1 : paths[0];
    if (detail == DETAIL_RUNS)
        return mem_printf("%zu run%s", runs, runs == 1 ? "" : "s");
    char *text = mem_strdup(file);
    if (count > 1 && detail == DETAIL_ALL)
        mem_append(&text, " and %zu more", count - 1);
    if (runs > 1)
        mem_append(&text, " (%zu runs)", runs);
    return text;
}

static char *all_texts(const struct run_sets *s, enum detail detail)
{
    const struct run_set *sets = s->compare->sets;
    char *base = set_text(s->sides[0].paths, s->sides[0].count, sets[0].runs, detail);
    char *text = mem_strdup("");
    for (size_t i = 1; i < s->side_count; i++) {
        char *one = set_text(s->sides[i].paths, s->sides[i].count, sets[i].runs, detail);
        mem_append(&text, "%s%s", i > 1 ? ", " : "", one);
        free(one);
    }
    mem_append(&text, " against %s%s", detail == DETAIL_RUNS ? "" : "base ", base);
    free(base);
    return text;
}

char *run_sets_subtitle(const struct run_sets *s, double room, bool cells)
{
    bool single = true;
    for (size_t i = 0; i < s->side_count; i++)
        single &= s->compare->sets[i].runs <= 1;
    char *text = all_texts(s, DETAIL_ALL);
    for (int detail = DETAIL_FILE; text_width(text, cells) > room && detail >= (int)single;
         detail--) {
        free(text);
        text = all_texts(s, (enum detail)detail);
    }
    return text;
}
