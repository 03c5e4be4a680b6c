/* The head of a comparison: columns, and the facts above the table.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyze/compare/report_compare_internal.h"
#include "base/memory.h"

static const char *keep(struct compare_view *v, char *text)
{
    mem_reserve(&v->texts, &v->text_capacity, v->text_count + 1, sizeof *v->texts);
    return v->texts[v->text_count++] = text;
}

static const char *unit_of(const struct compare_view *v)
{
    const struct quantity *q = &v->compare->quantity;
    switch (v->report->metric) {
    case COMPARE_TIME:
    case COMPARE_EXECUTION:
    case COMPARE_INCLUSIVE:
    case COMPARE_CALL_TIME:
        return "s";
    case COMPARE_ENERGY:
        return q->name != NULL ? q->unit : "J";
    case COMPARE_POWER:
        return q->name != NULL ? q->rate_unit : "W";
    case COMPARE_SAMPLES:
    case COMPARE_CALLS:
        return "";
    default:
        return "%";
    }
}

static void add_column(struct compare_view *v, const struct table_column *column)
{
    v->columns[v->column_count++] = *column;
}

/* If there are several other run sets, column names end in the name of the run set. */
static void add_set_columns(struct compare_view *v, size_t set)
{
    bool relative = v->report->has_error && (error_function_is_relative(v->report->error) ||
                                             error_aggregate_is_share(v->report->aggregate));
    const char *name = v->report->names[set], *unit = unit_of(v);
    char *error = mem_strdup(v->report->has_error ? error_function_name(v->report->error) : "");
    for (char *at = error; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    /* narrow tables leave out columns with the largest rank first */
    const struct table_column all[OF_ALL] = {
        {.name = name, .unit = unit},
        {.name = "difference", .unit = unit, .rank = 50},
        {.name = "ratio", .unit = "%", .rank = 20},
        {.name = error, .unit = relative ? "%" : unit, .rank = 15}, /* shown on request */
        {.name = "p", .unit = "", .rank = 60},
        {.name = "significant", .unit = "", .is_text = true, .rank = 80},
        {.name = "verdict", .unit = "", .is_text = true, .rank = 40},
        {.name = "other_line", .unit = "", .rank = 10}};
    keep(v, error);
    for (int i = 0; i < OF_ALL; i++) {
        if (!has_column(v, i))
            continue;
        bool alone = i == OF_VALUE || v->compare->set_count == 2;
        add_column(v, &all[i]);
        if (!alone)
            v->columns[v->column_count - 1].name = keep(v, mem_printf("%s_%s", all[i].name, name));
    }
}

static void make_columns(struct compare_view *v)
{
    const struct pbin_keys *keys = compare_keys(v->compare);
    v->columns = mem_zalloc(keys->count + 2 + v->compare->set_count * OF_ALL, sizeof *v->columns);
    for (size_t i = 0; i < keys->count; i++)
        add_column(v, &(struct table_column){.name = pbin_key_get((size_t)keys->key[i])->name,
                                             .unit = "",
                                             .is_text = true});
    add_column(v, &(struct table_column){.name = "weight", .unit = "%", .rank = 70});
    add_column(v, &(struct table_column){.name = v->report->names[0], .unit = unit_of(v)});
    for (size_t s = 1; s < v->compare->set_count; s++)
        add_set_columns(v, s);
}

/* The share of the base's time in rows that SET also has [%]. */
static double coverage(const struct compare *c, size_t set)
{
    exact covered = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->rows[i].set[0] != NULL && c->rows[i].set[set] != NULL)
            covered += c->rows[i].set[0]->time;
    double total = exact_to_double(c->sets[0].total.time, TIME_SHIFT, 1);
    return total > 0 ? 100 * exact_to_double(covered, TIME_SHIFT, 1) / total : NAN;
}

/* ---- facts ---- */

static void add_fact(struct compare_view *v, const char *what, const char *set, const char *unit,
                     struct table_cell cell)
{
    const char *name = keep(v, mem_printf("%s_%s", what, set));
    const char *title = keep(v, mem_printf("%s of %s", what, set));
    v->facts[v->fact_count++] = (struct table_fact){name, title, unit, cell};
}

static const char *test_text(struct compare_view *v, size_t set)
{
    static const char *const names[] = {
        [TEST_EXACT] = "equal or not; Welch's t-test where counts vary from run to run",
        [TEST_NONE] = "none: a single run does not show how this metric varies",
        [TEST_WELCH] = "Welch's t-test over runs",
        [TEST_SAMPLING] = "sampling interval of single runs (approximate)"};
    enum compare_test test = compare_test_of(v->compare, set, v->report->metric);
    return keep(
        v, mem_printf("%s, Holm's correction, level %g", names[test], v->compare->options.alpha));
}

static size_t count_significant(const struct compare_view *v, size_t set)
{
    size_t count = 0;
    for (size_t i = 0; i < v->compare->count; i++)
        count += compare_view_result(v, set, i)->significant;
    return count;
}

static void make_facts(struct compare_view *v)
{
    const struct compare *c = v->compare;
    v->facts = mem_zalloc(3 + c->set_count * 6, sizeof *v->facts);
    v->facts[v->fact_count++] = (struct table_fact){
        "metric", "metric", "", cell_text(compare_metric_name(v->report->metric))};
    for (size_t s = 0; s < c->set_count; s++) {
        const char *name = v->report->names[s];
        add_fact(v, "runs", name, "", cell_count(c->sets[s].runs));
        if (s == 0)
            continue;
        add_fact(v, "test", name, "", cell_text(test_text(v, s)));
        double ratio = compare_unexplained(c, s, v->report->metric);
        if (ratio != 1)
            add_fact(v, "total", name, "",
                     cell_text(keep(v, mem_printf("%.3g times that of the base, not tested: single "
                                                  "runs, where the machine may have changed",
                                                  ratio))));
        add_fact(v, "coverage", name, "%", cell_real(coverage(c, s)));
        add_fact(v, "significant_rows", name, "", cell_count(count_significant(v, s)));
    }
    if (v->report->has_error)
        v->facts[v->fact_count++] = (struct table_fact){
            "aggregate", "error in the total row", "",
            cell_text(keep(v, mem_printf("%s of %s", error_aggregate_name(v->report->aggregate),
                                         error_function_name(v->report->error))))};
}

void compare_view_head(struct compare_view *v)
{
    make_columns(v);
    make_facts(v);
}
