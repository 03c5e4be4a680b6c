/* An aggregate as a table, flat or as a tree.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/report_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/row_view.h"
#include "base/memory.h"

/* One row, or several with the same first keys: SIZE rows, starting at BEGIN, in the order of their
 * keys. */
struct group {
    const struct pbin_row *begin;
    size_t size;
    struct pbin_sums sums;
    exact fixed; /* static energy */
    double by;   /* the value by which groups are sorted */
};

static int compare(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->by != b->by)
        return a->by > b->by ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin; /* rows are in the order of their keys */
}

/* Groups ROWS by key number DEPTH (the keys before it are equal), or puts each row in its own group
 * if SINGLE. The largest is first. The caller frees the groups. */
static struct group *make_groups(const struct row_view *v, const struct pbin_row *rows, size_t size,
                                 bool single, size_t depth, size_t *count)
{
    struct group *groups = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < size; i++) {
        if (!row_view_shows(v, &rows[i]))
            continue;
        if (*count == 0 || single || groups[*count - 1].begin->key[depth] != rows[i].key[depth]) {
            mem_reserve(&groups, &capacity, *count + 1, sizeof *groups);
            groups[(*count)++] = (struct group){.begin = &rows[i],
                                                .sums = rows[i].sums,
                                                .fixed = row_view_static(v, &rows[i]),
                                                .size = 1};
            continue;
        }
        struct group *last = &groups[*count - 1];
        last->size = (size_t)(&rows[i] - last->begin) + 1;
        row_sums_join(&last->sums, &rows[i].sums);
        last->fixed += row_view_static(v, &rows[i]);
    }
    for (size_t i = 0; i < *count; i++)
        groups[i].by = row_view_metric(v, &groups[i].sums, groups[i].begin, groups[i].size);
    if (*count > 0)
        qsort(groups, *count, sizeof *groups, compare);
    return groups;
}

/* Moves the groups within the limits to the front, and returns how many there are. _idle and _gap
 * are always among them: because they have energy but no time, they would give _other a power that
 * no code has. */
static size_t limit(const struct row_view *v, struct group *groups, size_t count)
{
    const struct report_options *o = v->report;
    struct group *rest = mem_zalloc(count + 1, sizeof *rest);
    double sum = 0;
    size_t shown = 0, code = 0, cut = 0;
    for (size_t i = 0; i < count; i++) {
        double share = row_view_share(v, &groups[i].sums);
        bool label = aggregate_is_label(v->aggregate, groups[i].begin);
        bool within = cut == 0 && (o->top == 0 || code < o->top) &&
                      (o->cumulative == 0 || sum < o->cumulative) && !(share < o->threshold);
        if (!label && !within) {
            rest[cut++] = groups[i];
            continue;
        }
        groups[shown++] = groups[i];
        code += !label;
        sum += share;
    }
    if (cut > 0)
        memcpy(groups + shown, rest, cut * sizeof *rest);
    free(rest);
    return shown;
}

/* Fills the cells of measures, for all rows of COUNT groups. */
static void put_measures(const struct row_view *v, const struct group *groups, size_t count,
                         struct table_cell *cells)
{
    struct measure_sums sums = {0};
    for (size_t i = 0; i < count && v->measures.count > 0; i++)
        for (size_t r = 0; r < groups[i].size; r++)
            if (row_view_shows(v, groups[i].begin + r))
                measure_sums_add(&sums, v->aggregate,
                                 (size_t)(groups[i].begin + r - aggregate_row(v->aggregate, 0)));
    measure_view_cells(&v->measures, &sums, cells + v->measures_at);
    measure_sums_free(&sums);
}

/* Shows a row without code, _total or _other. SUM is the sum of COUNT groups. */
static void show_label(const struct row_view *v, struct table *table, bool total,
                       const struct group *sum, const struct group *groups, size_t count)
{
    const char *label = total ? LABEL_TOTAL : LABEL_OTHER;
    const struct pbin_sums *sums = &sum->sums;
    struct table_cell cells[VIEW_MAX_COLUMNS] = {{0}};
    bool any = false;
    for (size_t i = 0; i < v->name_count && !v->report->tree; i++)
        if (!total || (pbin_key_get((size_t)v->keys->key[i])->is_text && !any)) {
            cells[i] = cell_text(label);
            any = true;
        }
    if (!any)
        cells[v->report->tree] = cell_text(label);
    row_view_values(v, sums, sum->fixed, total && sums->runs == v->runs, cells);
    put_measures(v, groups, count, cells);
    if (total) /* as above the table: _idle has no CPU time to divide its energy by */
        cells[v->power_at] = cell_real(v->power);
    (total ? table_total : table_row)(table, cells);
}

/* Shows a line of a tree: GROUP, which consists of COUNT groups. */
static void show_branch(const struct row_view *v, struct table *table, const char *name,
                        const struct group *group, const struct group *groups, size_t count,
                        size_t depth, bool indent)
{
    struct table_cell cells[VIEW_MAX_COLUMNS];
    char *shown = mem_printf("%*s%s", indent ? (int)depth * 2 : 0, "", name);
    cells[0] = cell_count(depth);
    cells[1] = cell_text(shown);
    row_view_values(v, &group->sums, group->fixed, group->size == 1, cells);
    put_measures(v, groups, count, cells);
    if (group->size == 1)
        row_view_fitted(v, group->begin, cells);
    table_row(table, cells);
    free(shown);
}

/* The rows beyond a limit, as a group without its own rows. */
static struct group sum_of(const struct group *groups, size_t from, size_t count)
{
    struct group sum = {0};
    for (size_t i = from; i < count; i++) {
        row_sums_join(&sum.sums, &groups[i].sums);
        sum.fixed += groups[i].fixed;
    }
    return sum;
}

static void show_flat(const struct row_view *v, struct table *table)
{
    size_t count, size = aggregate_row_count(v->aggregate);
    struct group *groups =
        make_groups(v, size > 0 ? aggregate_row(v->aggregate, 0) : NULL, size, true, 0, &count);
    size_t shown = limit(v, groups, count);
    for (size_t i = 0; i < shown; i++) {
        struct table_cell cells[VIEW_MAX_COLUMNS];
        for (size_t k = 0; k < v->name_count; k++)
            cells[k] = row_view_key(v, groups[i].begin, k);
        row_view_values(v, &groups[i].sums, groups[i].fixed, true, cells);
        put_measures(v, &groups[i], 1, cells);
        row_view_fitted(v, groups[i].begin, cells);
        table_row(table, cells);
    }
    struct group other = sum_of(groups, shown, count);
    if (shown < count)
        show_label(v, table, false, &other, groups + shown, count - shown);
    free(groups);
}

static char *cell_name(const struct table_cell *cell)
{
    if (cell->kind == CELL_TEXT)
        return mem_strdup(cell->text[0] != '\0' ? cell->text : "-");
    if (cell->kind == CELL_MISSING)
        return mem_strdup("-");
    return mem_printf(cell->kind == CELL_HEX ? "0x%llx" : "%llu", (unsigned long long)cell->count);
}

/* Indents only text, not formats for programs. The depth of recursion is at most the number of
 * keys. */
/* NOLINTNEXTLINE(misc-no-recursion): once per key */
static void show_tree(const struct row_view *v, struct table *table, const struct pbin_row *rows,
                      size_t size, size_t depth, bool indent)
{
    size_t count;
    struct group *groups = make_groups(v, rows, size, false, depth, &count);
    size_t shown = limit(v, groups, count);
    for (size_t i = 0; i < shown; i++) {
        struct table_cell key = row_view_key(v, groups[i].begin, depth);
        char *name = cell_name(&key);
        show_branch(v, table, name, &groups[i], &groups[i], 1, depth, indent);
        free(name);
        if (depth + 1 < v->keys->count)
            show_tree(v, table, groups[i].begin, groups[i].size, depth + 1, indent);
    }
    struct group other = sum_of(groups, shown, count);
    if (shown < count)
        show_branch(v, table, LABEL_OTHER, &other, groups + shown, count - shown, depth, indent);
    free(groups);
}

void report_rows(const struct aggregate *a, const struct report_options *options,
                 const struct table_format *format, struct output *out)
{
    struct row_view v;
    row_view_init(&v, a, options);
    struct table_head head = {.facts = v.facts,
                              .fact_count = v.fact_count,
                              .columns = v.columns,
                              .column_count = v.column_count,
                              .color = options->color,
                              .style = options->style};
    struct table *table = table_open(format, out, &head);
    const size_t count = aggregate_row_count(a);
    const struct pbin_row *rows = count > 0 ? aggregate_row(a, 0) : NULL;
    if (options->tree && count > 0)
        show_tree(&v, table, rows, count, 0, format == &table_text);
    else
        show_flat(&v, table);
    const struct group sum = {.sums = v.total, .fixed = v.total_static};
    const struct group all = {.begin = rows, .size = count};
    show_label(&v, table, true, &sum, &all, 1);
    table_close(table);
}
