/* An aggregate as a table.
 * SPDX-License-Identifier: MIT */
#include "analyze/report_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char *const metrics[METRICS] = {"time", "energy", "power", "samples", "entries"};

const char *row_metric_name(enum row_metric metric)
{
    return metrics[metric];
}

int row_metric_parse(const char *name)
{
    for (int i = 0; i < METRICS; i++)
        if (strcmp(metrics[i], name) == 0)
            return i;
    return -1;
}

void row_values_of(const struct pbin_sums *sums, size_t runs, struct row_values *values)
{
    uint64_t n = runs > 0 ? runs : 1;
    values->time = exact_to_double(sums->time, TIME_SHIFT, n * 1000000000);
    values->energy = exact_to_double(sums->energy, ENERGY_SHIFT, n);
    values->power = sums->time > 0 ? values->energy / values->time : NAN;
    values->samples = exact_to_double(sums->samples, SAMPLES_SHIFT, n);
    values->entries = sums->entries == UINT64_MAX ? NAN : (double)sums->entries / (double)n;
}

/* Rows in the order in which they are shown. */
struct ranking {
    const struct pbin_row **rows;
    struct row_values *values;
    size_t count;
};

struct ranked {
    const struct pbin_row *row;
    double by;
};

static double metric_of(const struct row_values *values, enum row_metric metric)
{
    const double all[METRICS] = {values->time, values->energy, values->power, values->samples,
                                 values->entries};
    return isnan(all[metric]) ? -INFINITY : all[metric];
}

static int compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->by != b->by)
        return a->by > b->by ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row; /* rows lie in order of their keys */
}

/* All rows, largest first. Caller frees. */
static struct ranked *rank_rows(const struct aggregate *a, enum row_metric metric, size_t *count)
{
    struct ranked *ranked = mem_zalloc(aggregate_row_count(a), sizeof *ranked);
    *count = 0;
    for (size_t i = 0; i < aggregate_row_count(a); i++) {
        const struct pbin_row *row = aggregate_row(a, i);
        struct row_values values;
        if (row->sums.runs == 0)
            continue;
        row_values_of(&row->sums, aggregate_run_count(a), &values);
        ranked[(*count)++] = (struct ranked){row, metric_of(&values, metric)};
    }
    qsort(ranked, *count, sizeof *ranked, compare);
    return ranked;
}

enum { COLUMNS_MOST = PBIN_KEYS_MOST + 8 };

/* The table that is being written. */
struct view {
    const struct aggregate *aggregate;
    const struct aggregate_options *options;
    struct table_column columns[COLUMNS_MOST];
    size_t column_count;
    struct row_values total;
    bool has_quantity;
};

static void add_column(struct view *v, const char *name, const char *unit, bool is_text)
{
    v->columns[v->column_count++] = (struct table_column){name, unit, is_text};
}

static void make_columns(struct view *v)
{
    const struct quantity *q = aggregate_quantity(v->aggregate);
    for (size_t i = 0; i < v->options->key_count; i++) {
        const struct pbin_key *key = pbin_key_get((size_t)v->options->keys[i]);
        add_column(v, key->name, "", true);
    }
    v->has_quantity = q->name != NULL;
    add_column(v, "time", "s", false);
    add_column(v, "share", "%", false);
    add_column(v, "samples", "", false);
    add_column(v, "entries", "", false);
    add_column(v, v->has_quantity ? q->rate_name : "power", v->has_quantity ? q->rate_unit : "W",
               false);
    add_column(v, v->has_quantity ? q->name : "energy", v->has_quantity ? q->unit : "J", false);
    add_column(v, "energy_share", "%", false);
}

static struct table_cell count_cell(double value)
{
    if (value >= 0 && value < 9e15 && value == floor(value))
        return cell_count((uint64_t)value);
    return cell_real(value); /* a mean over runs, or parts of histogram bins */
}

static void fill_values(const struct view *v, const struct row_values *values,
                        struct table_cell *cell)
{
    cell[0] = cell_real(values->time);
    cell[1] = cell_real(v->total.time > 0 ? 100 * values->time / v->total.time : NAN);
    cell[2] = count_cell(values->samples);
    cell[3] = isnan(values->entries) ? (struct table_cell){0} : count_cell(values->entries);
    if (!v->has_quantity) {
        cell[4] = cell[5] = cell[6] = (struct table_cell){0};
        return;
    }
    cell[4] = cell_real(values->power);
    cell[5] = cell_real(values->energy);
    cell[6] = cell_real(v->total.energy != 0 ? 100 * values->energy / v->total.energy : NAN);
}

static void show_row(const struct view *v, struct table *table, const struct pbin_row *row)
{
    struct table_cell cells[COLUMNS_MOST];
    struct row_values values;
    for (size_t i = 0; i < v->options->key_count; i++) {
        const struct pbin_key *key = pbin_key_get((size_t)v->options->keys[i]);
        if (key->is_text)
            cells[i] = cell_text(aggregate_text(v->aggregate, row->key[i]));
        else if (row->key[i] == 0)
            cells[i] = (struct table_cell){0};
        else
            cells[i] = strcmp(key->name, "pc") == 0 ? cell_hex(row->key[i]) : cell_count(row->key[i]);
    }
    row_values_of(&row->sums, aggregate_run_count(v->aggregate), &values);
    fill_values(v, &values, cells + v->options->key_count);
    table_row(table, cells);
}

/* A row without code: _other, _total. */
static void show_label(const struct view *v, struct table *table, const char *label,
                       const struct row_values *values, bool total)
{
    struct table_cell cells[COLUMNS_MOST] = {{0}};
    bool any_text = false;
    for (size_t i = 0; i < v->options->key_count; i++)
        if (pbin_key_get((size_t)v->options->keys[i])->is_text && !(total && any_text)) {
            cells[i] = cell_text(label);
            any_text = true;
        }
    if (!any_text)
        cells[0] = cell_text(label);
    fill_values(v, values, cells + v->options->key_count);
    (total ? table_total : table_row)(table, cells);
}

static void add_values(struct pbin_sums *sum, const struct pbin_sums *part)
{
    sum->time += part->time;
    sum->energy += part->energy;
    sum->samples += part->samples;
    sum->entries = sum->entries == UINT64_MAX || part->entries == UINT64_MAX
                       ? UINT64_MAX
                       : sum->entries + part->entries;
}

static struct row_values sum_from(const struct aggregate *a, const struct ranked *ranked,
                                  size_t from, size_t count)
{
    struct pbin_sums sum = {0};
    struct row_values values;
    for (size_t i = from; i < count; i++)
        add_values(&sum, &ranked[i].row->sums);
    row_values_of(&sum, aggregate_run_count(a), &values);
    return values;
}

static struct table_cell text_or_missing(const char *text)
{
    return text != NULL ? cell_text(text) : (struct table_cell){0};
}

static struct table_cell positive(double value)
{
    return value > 0 ? cell_real(value) : (struct table_cell){0};
}

enum { FACTS = 16 };

static size_t make_facts(const struct view *v, struct table_fact *facts)
{
    const struct pbin_meta *meta = aggregate_meta(v->aggregate);
    const struct quantity *q = aggregate_quantity(v->aggregate);
    size_t runs = aggregate_run_count(v->aggregate), n = 0;
    double wall = (double)meta->wall_ns / 1e9 / (double)(runs > 0 ? runs : 1);
    double samples = (double)meta->samples / (double)(runs > 0 ? runs : 1);
    facts[n++] = (struct table_fact){"name", "profile", "", text_or_missing(meta->name)};
    facts[n++] = (struct table_fact){"target", "target", "", text_or_missing(meta->target)};
    facts[n++] = (struct table_fact){"command", "command", "", text_or_missing(meta->command)};
    facts[n++] = (struct table_fact){"dialect", "recorded as", "", text_or_missing(meta->dialect)};
    facts[n++] = (struct table_fact){"runs", "runs", "", cell_count(runs)};
    facts[n++] = (struct table_fact){"wall_s", "wall time", "s", positive(wall)};
    facts[n++] = (struct table_fact){"time_s", "CPU time", "s", cell_real(v->total.time)};
    facts[n++] = (struct table_fact){"samples", "samples", "", count_cell(samples)};
    facts[n++] = (struct table_fact){"frequency_hz", "sampling frequency", "Hz",
                                     positive(wall > 0 ? samples / wall : 0)};
    facts[n++] = (struct table_fact){"latency_s", "time in the sampler", "s",
                                     cell_real((double)meta->latency_ns / 1e9 /
                                               (double)(runs > 0 ? runs : 1))};
    facts[n++] = (struct table_fact){
        "energy_J", v->has_quantity ? q->name : "energy", v->has_quantity ? q->unit : "J",
        v->has_quantity ? cell_real(v->total.energy) : (struct table_cell){0}};
    facts[n++] = (struct table_fact){
        "power_W", v->has_quantity ? q->rate_name : "power", v->has_quantity ? q->rate_unit : "W",
        v->has_quantity && wall > 0 ? cell_real(v->total.energy / wall) : (struct table_cell){0}};
    if (v->has_quantity && strcmp(q->name, "energy") != 0) {
        facts[n - 2].name = q->name; /* its unit stands in the columns */
        facts[n - 1].name = q->rate_name;
    }
    return n;
}

void report_rows(const struct aggregate *a, const struct report_options *options,
                 const struct table_format *format, struct output *out)
{
    struct view v = {.aggregate = a, .options = aggregate_options_of(a)};
    struct table_fact facts[FACTS];
    size_t count;
    struct ranked *ranked = rank_rows(a, options->sort, &count);
    size_t shown = options->top > 0 && options->top < count ? options->top : count;
    v.total = sum_from(a, ranked, 0, count);
    make_columns(&v);
    struct table_head head = {.facts = facts,
                              .fact_count = make_facts(&v, facts),
                              .columns = v.columns,
                              .column_count = v.column_count,
                              .color = options->color};
    struct table *table = table_open(format, out, &head);
    for (size_t i = 0; i < shown; i++)
        show_row(&v, table, ranked[i].row);
    if (shown < count) {
        struct row_values other = sum_from(a, ranked, shown, count);
        show_label(&v, table, LABEL_OTHER, &other, false);
    }
    show_label(&v, table, LABEL_TOTAL, &v.total, true);
    table_close(table);
    free(ranked);
}
