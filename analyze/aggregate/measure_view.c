/* Measures as columns of a table.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/measure_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log_buckets.h"
#include "base/memory.h"

enum { NS_PER_S = 1000000000 };

/* The measures of calls (pbin.5) in the order in which they are shown, and the columns derived from
 * them. */
static const struct known {
    const char *name;
    unsigned char rank;
    bool only_wide;
    int what;
    double share;
} known[] = {
    {"calls", 0, false, SHOW_VALUE, 0},         {"returned", 0, true, SHOW_VALUE, 0},
    {"unwound", 92, false, SHOW_VALUE, 0},      {"inside", 91, false, SHOW_VALUE, 0},
    {"untimed", 0, true, SHOW_VALUE, 0},        {"inclusive", 45, false, SHOW_VALUE, 0},
    {"total", 0, true, SHOW_VALUE, 0},          {"mean", 40, false, SHOW_MEAN, 0},
    {"min", 72, false, SHOW_VALUE, 0},          {"p50", 52, false, SHOW_QUANTILE, 0.5},
    {"p90", 74, false, SHOW_QUANTILE, 0.9},     {"p99", 65, false, SHOW_QUANTILE, 0.99},
    {"max", 55, false, SHOW_VALUE, 0},          {"inclusive_energy", 35, false, SHOW_VALUE, 0},
    {"energy_error", 60, false, SHOW_VALUE, 0},
};
enum { KNOWN = sizeof known / sizeof known[0] };

static const char *unit_of(const struct aggregate *a, const struct pbin_measure *kind)
{
    return aggregate_text(a, kind->unit);
}

static bool is_sum(const struct pbin_measure *kind)
{
    return kind->join == PBIN_ADD || kind->join == PBIN_ADD_SAME;
}

/* Sums of times are in seconds, single times in ns. */
static bool is_in_seconds(const struct aggregate *a, const struct pbin_measure *kind)
{
    return is_sum(kind) && strcmp(unit_of(a, kind), "ns") == 0;
}

static int find_histogram(const struct measures *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->kind[i].type == PBIN_HISTOGRAM)
            return (int)i;
    return -1;
}

static struct measure_shown *add(struct measure_view *v, int what, size_t measure, const char *name,
                                 const char *unit)
{
    struct measure_shown *s = &v->shown[v->count++];
    *s = (struct measure_shown){.measure = measure};
    s->what = what;
    snprintf(s->name, sizeof s->name, "%s", name);
    s->column = (struct table_column){.name = s->name, .unit = unit};
    return s;
}

static struct measure_shown *add_value(struct measure_view *v, size_t measure)
{
    const struct pbin_measure *kind = &aggregate_measures(v->aggregate)->kind[measure];
    return add(v, SHOW_VALUE, measure, aggregate_text(v->aggregate, kind->name),
               is_in_seconds(v->aggregate, kind) ? "s" : unit_of(v->aggregate, kind));
}

static void add_known(struct measure_view *v, const struct known *k)
{
    const struct measures *m = aggregate_measures(v->aggregate);
    struct measure_shown *s = NULL;
    int found = aggregate_measure(v->aggregate, k->name), histogram = find_histogram(m);
    if (k->what == SHOW_VALUE && found >= 0 && m->kind[found].type != PBIN_HISTOGRAM)
        s = add_value(v, (size_t)found);
    else if (k->what == SHOW_MEAN && found < 0 && aggregate_measure(v->aggregate, "total") >= 0 &&
             aggregate_measure(v->aggregate, "returned") >= 0)
        s = add(v, SHOW_MEAN, 0, k->name, "ns");
    else if (k->what == SHOW_QUANTILE && found < 0 && histogram >= 0)
        s = add(v, SHOW_QUANTILE, (size_t)histogram, k->name,
                unit_of(v->aggregate, &m->kind[histogram]));
    if (s == NULL)
        return;
    s->share = k->share;
    s->column.rank = k->rank;
    s->column.only_wide = k->only_wide;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(known[i].name, name) == 0)
            return true;
    return false;
}

void measure_view_init(struct measure_view *v, const struct aggregate *a,
                       const struct table_column *taken, size_t taken_count)
{
    const struct measures *m = aggregate_measures(a);
    v->aggregate = a;
    v->count = 0;
    for (size_t i = 0; i < KNOWN; i++)
        add_known(v, &known[i]);
    for (size_t i = 0; i < m->count; i++)
        if (m->kind[i].type != PBIN_HISTOGRAM && !is_known(aggregate_text(a, m->kind[i].name)))
            add_value(v, i);
    for (size_t i = 0; i < v->count; i++)
        for (size_t k = 0; k < taken_count; k++)
            if (strcmp(v->shown[i].name, taken[k].name) == 0)
                snprintf(v->shown[i].name, sizeof v->shown[i].name, "%s_measured", taken[k].name);
}

static size_t function_key(const struct aggregate *a)
{
    return pbin_keys_index(aggregate_keys(a), "function");
}

/* Marks values that cannot be added if rows of several functions are joined. */
static void check_function(struct measure_sums *sums, const struct aggregate *a, size_t number)
{
    size_t at = function_key(a);
    const struct measures *m = aggregate_measures(a);
    uint64_t function = at < aggregate_keys(a)->count ? aggregate_row(a, number)->key[at] + 1 : 1;
    if (sums->functions != 0 && sums->functions != function)
        for (size_t i = 0; i < m->count; i++)
            sums->of[i].unknown |= m->kind[i].join == PBIN_ADD_SAME;
    sums->functions = function;
}

static void add_counts(struct measure_sums *sums, const struct measure_cell *cell)
{
    if (sums->counts == NULL)
        sums->counts = mem_zalloc(LOG_BUCKETS, sizeof *sums->counts);
    for (size_t i = 0; i < cell->buckets; i++)
        sums->counts[cell->bucket[i].bucket] += cell->bucket[i].count;
}

void measure_sums_add(struct measure_sums *sums, const struct aggregate *a, size_t number)
{
    const struct measures *m = aggregate_measures(a);
    int histogram = find_histogram(m);
    if (m->count == 0)
        return;
    check_function(sums, a, number);
    for (size_t i = 0; i < m->count; i++) {
        const struct measure_cell *cell = measures_get(m, i, number);
        exact *value = &sums->of[i].value;
        if (cell == NULL)
            continue;
        if ((int)i == histogram && !sums->no_counts)
            add_counts(sums, cell);
        exact from = cell->total.value;
        if (!sums->of[i].any)
            *value = from;
        else if (is_sum(&m->kind[i]))
            sums->of[i].unknown |= __builtin_add_overflow(*value, from, value);
        else
            *value = (m->kind[i].join == PBIN_MIN) == (from < *value) ? from : *value;
        sums->of[i].any = true;
    }
}

void measure_sums_free(struct measure_sums *sums)
{
    free(sums->counts);
}

/* The value of measure NUMBER, in its unit; a sum is shown as its mean over runs. NaN: none. */
static double value_of(const struct aggregate *a, const struct measure_sums *sums, int number)
{
    size_t runs = aggregate_run_count(a);
    if (number < 0 || !sums->of[number].any || sums->of[number].unknown)
        return NAN;
    const struct pbin_measure *kind = &aggregate_measures(a)->kind[number];
    uint64_t divisor = is_sum(kind) && runs > 0 ? runs : 1;
    return exact_to_double(sums->of[number].value, kind->type == PBIN_REAL ? MEASURE_SHIFT : 0,
                           divisor);
}

/* Measures that are counts are shown as whole numbers. */
static struct table_cell number_cell(double value, enum pbin_measure_type type)
{
    return type == PBIN_INTEGER ? cell_whole(value) : cell_real(value);
}

static double quantile(const struct aggregate *a, const struct measure_sums *sums, double share)
{
    if (sums->counts == NULL)
        return NAN;
    double value = log_quantile(sums->counts, share);
    double least = value_of(a, sums, aggregate_measure(a, "min"));
    double most = value_of(a, sums, aggregate_measure(a, "max"));
    return value < least ? least : value > most ? most : value;
}

void measure_view_cells(const struct measure_view *v, const struct measure_sums *sums,
                        struct table_cell *cells)
{
    const struct aggregate *a = v->aggregate;
    for (size_t i = 0; i < v->count; i++) {
        const struct measure_shown *s = &v->shown[i];
        const struct pbin_measure *kind = &aggregate_measures(a)->kind[s->measure];
        if (s->what == SHOW_QUANTILE)
            cells[i] = cell_real(quantile(a, sums, s->share));
        else if (s->what == SHOW_MEAN)
            cells[i] = cell_real(value_of(a, sums, aggregate_measure(a, "total")) /
                                 value_of(a, sums, aggregate_measure(a, "returned")));
        else
            cells[i] = number_cell(value_of(a, sums, (int)s->measure) /
                                       (is_in_seconds(a, kind) ? NS_PER_S : 1),
                                   kind->type);
    }
}

void row_values_measured(struct row_values *values, const struct aggregate *a, size_t first,
                         size_t count)
{
    struct measure_sums sums = {.no_counts = true};
    int calls = aggregate_measure(a, "calls"), inclusive = aggregate_measure(a, "inclusive");
    for (size_t i = 0; i < count && aggregate_measures(a)->count > 0; i++)
        measure_sums_add(&sums, a, first + i);
    values->calls = value_of(a, &sums, calls);
    values->inclusive = value_of(a, &sums, inclusive) / NS_PER_S;
    measure_sums_free(&sums);
}
