/* Profiles as ranked rows.
 * SPDX-License-Identifier: MIT */
#include "plot/ranking.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/measure_view.h"
#include "analyze/aggregate/report_rows.h"
#include "analyze/aggregate/sampled.h"
#include "base/memory.h"
#include "plot/names.h"
#include "plot/text.h"

const char *ranking_metric_name(const struct quantity *q, enum row_metric metric)
{
    if (metric == METRIC_ENERGY && q->name != NULL)
        return q->name;
    if (metric == METRIC_POWER && q->name != NULL)
        return q->rate_name;
    return row_metric_name(metric);
}

const char *ranking_metric_unit(const struct quantity *q, enum row_metric metric)
{
    return metric == METRIC_TIME || metric == METRIC_INCLUSIVE ? "s"
           : metric == METRIC_ENERGY                           ? q->unit
           : metric == METRIC_POWER                            ? q->rate_unit
                                                               : "";
}

static bool has_energy(const struct aggregate *aggregate)
{
    for (size_t i = 0; i < aggregate_row_count(aggregate); i++)
        if (aggregate_row(aggregate, i)->sums.energy != 0)
            return true;
    return false;
}

int ranking_metric(const struct plot *plot, const struct quantity *quantity, bool has_energy,
                   enum row_metric *metric, struct error *err)
{
    *metric = plot->options->metric;
    if (!plot->options->metric_given)
        *metric = quantity->name != NULL && has_energy ? METRIC_ENERGY : METRIC_TIME;
    if (quantity->name == NULL && (*metric == METRIC_ENERGY || *metric == METRIC_POWER))
        return error_set(err, NULL, NO_OFFSET, "cannot draw %s: the profile has no PMU values",
                         row_metric_name(*metric));
    return 0;
}

int ranking_metric_of(const struct plot *plot, const struct aggregate *aggregate,
                      enum row_metric *metric, struct error *err)
{
    if (ranking_metric(plot, aggregate_quantity(aggregate), has_energy(aggregate), metric, err) !=
        0)
        return -1;
    bool of_calls = *metric == METRIC_CALLS || *metric == METRIC_INCLUSIVE;
    if (of_calls && aggregate_measure(aggregate, row_metric_name(*metric)) < 0)
        return error_set(err, NULL, NO_OFFSET,
                         "cannot draw %s: only profiles of calls have them, see funcmeter(1)",
                         row_metric_name(*metric));
    return 0;
}

/* Returns half of the 95 % interval, or NaN: the spread over the runs is only known for time and
 * energy. */
static double interval_of(const struct aggregate *aggregate, const struct pbin_row *row,
                          enum row_metric metric)
{
    struct row_spread spread;
    if (row == NULL)
        return NAN;
    row_spread_of(&row->sums, aggregate_run_count(aggregate), &spread);
    return metric == METRIC_TIME     ? spread.time_ci
           : metric == METRIC_ENERGY ? spread.energy_ci
                                     : NAN;
}

static double order_of(double value)
{
    return isnan(value) ? -INFINITY : value;
}

static int compare(const void *left, const void *right)
{
    const struct ranked_row *a = left, *b = right;
    double x = order_of(a->value), y = order_of(b->value);
    if (x != y)
        return x > y ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row; /* rows are in the order of their keys */
}

/* Adds CALLS to *SUM; NaN means no calls. */
static void add_calls(double *sum, double calls)
{
    *sum = isnan(*sum) ? calls : isnan(calls) ? *sum : *sum + calls;
}

/* Lists all rows with their values, and the total. Returns their number. Inclusive times have no
 * total, because functions contain one another. */
static size_t take_rows(struct ranking *r, const struct aggregate *a)
{
    struct pbin_sums total = {0};
    double calls = NAN;
    size_t count = 0, runs = aggregate_run_count(a);
    r->rows = mem_zalloc(aggregate_row_count(a) + 1, sizeof *r->rows);
    for (size_t i = 0; i < aggregate_row_count(a); i++) {
        const struct pbin_row *row = aggregate_row(a, i);
        struct ranked_row *to = &r->rows[count];
        if (row->sums.runs == 0 || aggregate_is_excluded(a, row))
            continue;
        row_sums_join(&total, &row->sums);
        row_values_of(&row->sums, runs, &to->values);
        row_values_measured(&to->values, a, i, 1);
        add_calls(&calls, to->values.calls);
        to->value = row_value(&to->values, r->metric);
        to->row = row;
        count++;
    }
    row_values_of(&total, runs, &r->total);
    r->total.calls = calls;
    qsort(r->rows, count, sizeof *r->rows, compare);
    return count;
}

/* Returns whether ROW is _idle or _gap with a value to show. */
static bool is_extra(const struct aggregate *a, const struct ranked_row *row)
{
    return aggregate_is_label(a, row->row) && order_of(row->value) > 0;
}

/* Keeps TOP rows and joins the others. _idle and _gap, energy without time, are not joined to code. */
static void fold_rest(struct ranking *r, const struct aggregate *a, size_t count, size_t top)
{
    struct pbin_sums rest = {0};
    double rest_calls = NAN;
    size_t kept = 0, labels = 0;
    r->count = r->code = count;
    if (top == 0 || count <= top)
        return;
    for (size_t i = 0; i < count; i++)
        labels += is_extra(a, &r->rows[i]);
    size_t most = labels < top ? top - labels : 1;
    r->code = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_extra(a, &r->rows[i])) {
            r->rows[kept++] = r->rows[i];
        } else if (aggregate_is_label(a, r->rows[i].row)) {
            continue; /* it has no value of the metric */
        } else if (r->code < most) {
            r->rows[kept++] = r->rows[i];
            r->code++;
        } else {
            row_sums_join(&rest, &r->rows[i].row->sums);
            add_calls(&rest_calls, r->rows[i].values.calls);
            r->hidden++;
        }
    }
    r->count = kept;
    if (r->hidden == 0)
        return;
    r->rows[kept] = (struct ranked_row){.name = mem_strdup(LABEL_OTHER), .other = true};
    row_values_of(&rest, aggregate_run_count(a), &r->rows[kept].values);
    r->rows[kept].values.calls = rest_calls;
    r->rows[kept].value = row_value(&r->rows[kept].values, r->metric);
    r->count = kept + 1;
}

const char *ranking_text(const void *aggregate, uint64_t number)
{
    return aggregate_text(aggregate, number);
}

static void name_rows(struct ranking *r, const struct aggregate *a)
{
    size_t count = r->count - (r->hidden > 0);
    const struct pbin_row **rows = mem_zalloc(count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++)
        rows[i] = r->rows[i].row;
    struct name_source source = {aggregate_keys(a), ranking_text, a};
    char **names = names_make(&source, rows, count);
    for (size_t i = 0; i < count; i++) {
        r->rows[i].name = names[i];
        r->rows[i].other = aggregate_is_label(a, rows[i]) || strcmp(names[i], LABEL_OTHER) == 0;
    }
    free(names);
    free(rows);
}

void ranking_make(struct ranking *r, const struct aggregate *a, enum row_metric metric, size_t top)
{
    *r = (struct ranking){.metric = metric,
                          .unit = ranking_metric_unit(aggregate_quantity(a), metric),
                          .metric_name = ranking_metric_name(aggregate_quantity(a), metric)};
    fold_rest(r, a, take_rows(r, a), top);
    name_rows(r, a);
    double whole = row_value(&r->total, metric);
    for (size_t i = 0; i < r->count; i++) {
        struct ranked_row *row = &r->rows[i];
        row->share = metric != METRIC_POWER && whole > 0 ? row->value / whole : NAN;
        row->error = interval_of(a, row->row, metric);
    }
}

int ranking_check(const struct ranking *r, struct error *err)
{
    if (r->count > 0)
        return 0;
    err->is_nothing = err->text[0] == '\0';
    return error_set(err, NULL, NO_OFFSET, "nothing is selected: there are no rows to draw");
}

double ranking_limit(const struct ranking *r)
{
    double code = 0, other = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct ranked_row *row = &r->rows[i];
        double reach = order_of(row->value) + (row->error > 0 ? row->error : 0);
        double *most = row->other ? &other : &code;
        *most = fmax(*most, reach);
    }
    return scale_end(code, other) < other ? 1.1 * code : INFINITY;
}

void ranking_intervals(struct ranking *r, const struct aggregate *a)
{
    if (aggregate_run_count(a) != 1 || (r->metric != METRIC_TIME && r->metric != METRIC_ENERGY))
        return;
    struct sampled_code code; /* only code is sampled */
    sampled_code_of(&code, a, false);
    for (size_t i = 0; i < r->count; i++) {
        struct ranked_row *row = &r->rows[i];
        const struct row_values *values = &row->values;
        row->error = r->metric == METRIC_ENERGY ? sampled_energy(&code, values)
                     : values->samples > 0      ? sampled_time(&code, values->time, values->entries)
                                                : NAN;
    }
}

void ranking_free(struct ranking *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->rows[i].name);
    free(r->rows);
}
