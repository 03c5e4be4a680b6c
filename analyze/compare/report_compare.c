/* A comparison as a table.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/report_compare.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/compare/report_compare_internal.h"
#include "base/memory.h"
#include "base/name_list.h"
#include "base/ranked.h"

static const char *const sorts[SORTS] = {"difference", "base", "other", "ratio", "p", "key"};

int compare_sort_parse(const char *name)
{
    return name_find(sorts, SORTS, name);
}

/* A row without code that is 0 on both sides cannot have the metric (_idle has no CPU time, for
 * example), and has no error. */
static double row_error(const struct compare_view *v, size_t row, size_t set)
{
    if (compare_is_label(v->compare, &v->compare->rows[row]) && value_of(v, row, 0) == 0 &&
        value_of(v, row, set) == 0)
        return NAN;
    double error = error_of(v->report->error, value_of(v, row, 0), value_of(v, row, set),
                            weight_of(v, row, set));
    if (!error_aggregate_is_share(v->report->aggregate))
        return error;
    size_t of = error_aggregate_is_of_base(v->report->aggregate) ? 0 : set;
    double total = value_of(v, v->compare->count, of);
    return total != 0 ? 100 * error / total : NAN;
}

static void all_errors(const struct compare_view *v, size_t set, double *errors, double *weights)
{
    for (size_t i = 0; i < v->compare->count; i++) {
        bool present = pick(v, i, 0) != NULL || pick(v, i, set) != NULL;
        errors[i] = present ? row_error(v, i, set) : NAN;
        weights[i] = weight_of(v, i, set);
    }
}

static double total_error(const struct compare_view *v, size_t set)
{
    size_t count = v->compare->count;
    double *errors = mem_zalloc(count + 1, sizeof *errors);
    double *weights = mem_zalloc(count + 1, sizeof *weights);
    all_errors(v, set, errors, weights);
    double result = error_aggregate(v->report->aggregate, errors, weights, count);
    free(errors);
    free(weights);
    return result;
}

/* ---- rows ---- */

static struct table_cell key_cell(const struct compare_view *v, const struct run_set_row *row,
                                  size_t i)
{
    const struct pbin_key *key = pbin_key_get((size_t)compare_keys(v->compare)->key[i]);
    const char *text = compare_text(v->compare, row, i);
    if (text != NULL)
        return cell_text(text);
    if (row->key[i] == 0 && !key->has_zero)
        return (struct table_cell){0};
    return strcmp(key->name, "pc") == 0 ? cell_hex(row->key[i]) : cell_count(row->key[i]);
}

static struct table_cell line_cell(const struct compare_view *v, const struct run_set_row *row)
{
    size_t line = pbin_keys_index(compare_keys(v->compare), "line");
    return row != NULL && line < compare_keys(v->compare)->count ? key_cell(v, row, line)
                                                                 : (struct table_cell){0};
}

/* Sets the tone of CELL by the verdict. More calls are neither good nor bad. */
static struct table_cell with_tone(const struct compare_view *v, struct table_cell cell,
                                   const struct significance *result)
{
    enum verdict verdict = result->verdict;
    if (!result->significant || v->report->metric == COMPARE_CALLS)
        return cell;
    if (verdict == VERDICT_SLOWER || verdict == VERDICT_MORE)
        cell.tone = TONE_BAD;
    if (verdict == VERDICT_FASTER || verdict == VERDICT_LESS || verdict == VERDICT_FEWER)
        cell.tone = TONE_GOOD;
    return cell;
}

/* Numbers of calls are whole numbers, unless they are means over runs that differ. */
static struct table_cell value_cell(const struct compare_view *v, double value)
{
    return v->report->metric == COMPARE_CALLS ? cell_whole(value) : cell_real(value);
}

/* Returns whether ROW is in the set, or has no code, so that it is 0 there. */
static bool has_value(const struct compare_view *v, size_t row, size_t set)
{
    return pick(v, row, set) != NULL ||
           (row < v->compare->count && compare_is_label(v->compare, &v->compare->rows[row]));
}

static size_t fill_set(const struct compare_view *v, size_t row, size_t set,
                       struct table_cell *cells)
{
    const struct compare *c = v->compare;
    const struct significance *j = compare_view_result(v, set, row);
    bool total = row == c->count, there = pick(v, row, 0) != NULL || pick(v, row, set) != NULL;
    double base = value_of(v, row, 0), value = value_of(v, row, set);
    struct table_cell all[OF_ALL] = {{0}};
    size_t count = 0;
    all[OF_VALUE] = value_cell(v, has_value(v, row, set) ? value : NAN);
    all[OF_DIFFERENCE] = with_tone(v, cell_real(there ? value - base : NAN), j);
    all[OF_RATIO] = with_tone(v, cell_real(there && base != 0 ? 100 * value / base : NAN), j);
    if (v->report->has_error)
        all[OF_ERROR] = cell_real(total   ? total_error(v, set)
                                  : there ? row_error(v, row, set)
                                          : NAN);
    all[OF_P] = cell_real(j->p);
    all[OF_SIGNIFICANT] = cell_text(there ? j->significant ? "yes" : "no" : "");
    all[OF_VERDICT] = with_tone(v, cell_text(there ? verdict_name(j->verdict) : ""), j);
    if (!total)
        all[OF_LINE] = line_cell(v, pick(v, row, set));
    for (int i = 0; i < OF_ALL; i++)
        if (has_column(v, i))
            cells[count++] = all[i];
    return count;
}

static void fill_keys(const struct compare_view *v, size_t row)
{
    const struct run_set_row *from = NULL;
    for (size_t s = 0; s < v->compare->set_count && from == NULL; s++)
        from = pick(v, row, s);
    bool new_line = v->compare->options.rules.lines && pick(v, row, 0) == NULL;
    for (size_t i = 0; i < compare_keys(v->compare)->count; i++) {
        v->cells[i] = from != NULL ? key_cell(v, from, i) : (struct table_cell){0};
        if (new_line && compare_text(v->compare, from, i) == NULL)
            v->cells[i] = (struct table_cell){0}; /* the base does not have this line */
    }
}

static void show_row(struct compare_view *v, struct table *table, size_t row)
{
    const struct compare *c = v->compare;
    size_t at = compare_keys(c)->count;
    bool total = row == c->count;
    if (total) {
        memset(v->cells, 0, at * sizeof *v->cells);
        v->cells[0] = cell_text(LABEL_TOTAL);
    } else {
        fill_keys(v, row);
    }
    /* with other_weights, there is only one other run set */
    double weight = 100 * (total ? 1 : weight_of(v, row, 1));
    bool weighed = v->weight_sum[v->report->other_weights ? 1 : 0] != 0;
    v->cells[at++] = cell_real(weighed ? weight : NAN);
    v->cells[at++] = value_cell(v, has_value(v, row, 0) ? value_of(v, row, 0) : NAN);
    for (size_t s = 1; s < c->set_count; s++)
        at += fill_set(v, row, s, v->cells + at);
    (total ? table_total : table_row)(table, v->cells);
}

/* ---- order ---- */

static double rank_by(const struct compare_view *v, size_t row, size_t set)
{
    double base = value_of(v, row, 0), value = value_of(v, row, set);
    switch (v->report->sort) {
    case SORT_BASE:
        return base;
    case SORT_OTHER:
        return value;
    case SORT_RATIO: /* infinite if the row is new */
        return base != 0 ? value / base : value > 0 ? INFINITY : NAN;
    case SORT_P:
        return -compare_view_result(v, set, row)->p;
    case SORT_KEY:
        return 0;
    default: /* missing values count as 0 */
        return fabs((isnan(value) ? 0 : value) - (isnan(base) ? 0 : base));
    }
}

/* Before this, rows are sorted by key. The caller frees the result. */
static struct ranked *rank_rows(const struct compare_view *v)
{
    struct ranked *ranked = mem_zalloc(v->compare->count + 1, sizeof *ranked);
    for (size_t i = 0; i < v->compare->count; i++) {
        ranked[i] = (struct ranked){-INFINITY, i};
        for (size_t s = 1; s < v->compare->set_count; s++)
            ranked[i].amount = fmax(ranked[i].amount, rank_by(v, i, s)); /* never NaN */
    }
    ranked_sort(ranked, v->compare->count);
    return ranked;
}

static void sum_weights(struct compare_view *v)
{
    const struct compare *c = v->compare;
    v->weight_sum = mem_zalloc(c->set_count, sizeof *v->weight_sum);
    for (size_t s = 0; s < c->set_count; s++)
        for (size_t i = 0; i < c->count; i++) {
            double value = weighed_value(v, i, s);
            v->weight_sum[s] += isnan(value) ? 0 : value;
        }
}

static void free_view(struct compare_view *v)
{
    for (size_t i = 0; i < v->text_count; i++)
        free(v->texts[i]);
    free(v->results);
    free(v->weight_sum);
    free(v->texts);
    free(v->columns);
    free(v->facts);
    free(v->cells);
}

void report_compare(const struct compare *c, const struct compare_report *report,
                    const struct table_format *format, struct output *out)
{
    struct compare_view v = {.compare = c, .report = report};
    v.results = compare_significance(c, report->metric);
    sum_weights(&v);
    compare_view_head(&v);
    v.cells = mem_zalloc(v.column_count, sizeof *v.cells);
    struct table_head head = {.facts = v.facts,
                              .fact_count = v.fact_count,
                              .columns = v.columns,
                              .column_count = v.column_count,
                              .color = report->color,
                              .style = report->style};
    struct ranked *ranked = rank_rows(&v);
    struct table *table = table_open(format, out, &head);
    for (size_t i = 0; i < c->count && (report->top == 0 || i < report->top); i++)
        show_row(&v, table, ranked[i].index);
    show_row(&v, table, c->count);
    table_close(table);
    free(ranked);
    free_view(&v);
}

void report_compare_errors(const struct compare *c, const struct compare_report *report, size_t set,
                           double *errors, double *weights)
{
    struct compare_view v = {.compare = c, .report = report};
    sum_weights(&v);
    all_errors(&v, set, errors, weights);
    free_view(&v);
}
