/* Matches the rows of several run sets.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/words.h"
#include "base/memory.h"
#include "base/ranked.h"

struct compare *compare_new(const struct compare_options *options)
{
    struct compare *c = mem_zalloc(1, sizeof *c);
    c->options = *options;
    c->texts = strings_new();
    c->tuples = strings_new();
    return c;
}

void compare_delete(struct compare *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->set_count; i++)
        run_set_free(&c->sets[i]);
    for (size_t i = 0; i < c->count; i++)
        free(c->rows[i].set);
    free(c->rows);
    strings_delete(c->texts);
    strings_delete(c->tuples);
    free(c);
}

struct run_set *compare_add_set(struct compare *c)
{
    struct run_set *set = &c->sets[c->set_count++];
    run_set_init(set, &c->options.rules, c->texts, c->tuples);
    return set;
}

int compare_check_attribution(const struct compare *c, struct reporter *reporter, struct error *err)
{
    const struct run_set *base = &c->sets[0];
    for (size_t i = 1; i < c->set_count; i++) {
        const struct run_set *other = &c->sets[i];
        char how[ATTRIBUTION_DIFFERENCE];
        if (!attribution_differs(other->attribution, base->attribution, how))
            continue;
        if (attribution_is_wall(other->attribution) != attribution_is_wall(base->attribution))
            return error_set(err, other->attributed, NO_OFFSET, "was attributed %s, unlike %s", how,
                             base->attributed);
        report_warning(reporter,
                       "%s: was attributed %s, unlike %s: the differences include those of the "
                       "attribution",
                       other->attributed, how, base->attributed);
    }
    return 0;
}

static bool has_values(const struct compare *c, enum compare_metric metric)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t s = 0; s < c->set_count; s++)
            if (c->rows[i].set[s] != NULL &&
                !isnan(run_set_value(&c->sets[s], c->rows[i].set[s], metric)))
                return true;
    return false;
}

int compare_check_calls(const struct compare *c, enum compare_metric metric, struct error *err)
{
    bool of_calls =
        metric == COMPARE_CALLS || metric == COMPARE_INCLUSIVE || metric == COMPARE_CALL_TIME;
    if (!of_calls || c->count == 0 || has_values(c, metric))
        return 0;
    return error_set(err, NULL, NO_OFFSET,
                     "cannot compare %s: only profiles of calls have them, see funcmeter(1)",
                     compare_metric_name(metric));
}

const struct pbin_keys *compare_keys(const struct compare *c)
{
    return &c->options.rules.aggregate.rows.keys;
}

const char *compare_text(const struct compare *c, const struct run_set_row *row, size_t i)
{
    const struct pbin_key *key = pbin_key_get((size_t)compare_keys(c)->key[i]);
    return key->is_text ? strings_get(c->texts, (uint32_t)row->key[i])
                        : label_of_number(row->key[i]);
}

/* ---- order ---- */

static int compare_key(const struct compare *c, const struct run_set_row *a,
                       const struct run_set_row *b, size_t i)
{
    const uint64_t x = a->key[i], y = b->key[i];
    if (pbin_key_get((size_t)compare_keys(c)->key[i])->is_text)
        return strcmp(strings_get(c->texts, (uint32_t)x), strings_get(c->texts, (uint32_t)y));
    return (x > y) - (x < y);
}

/* Compares all keys except the line. Returns 0 for rows of the same function. */
static int compare_functions(const struct compare *c, const struct run_set_row *a,
                             const struct run_set_row *b)
{
    int order = 0;
    size_t line = pbin_keys_index(compare_keys(c), "line");
    for (size_t i = 0; i < compare_keys(c)->count && order == 0; i++)
        if (i != line)
            order = compare_key(c, a, b, i);
    return order;
}

static uint64_t line_of(const struct compare *c, const struct run_set_row *row)
{
    size_t line = pbin_keys_index(compare_keys(c), "line");
    return line < compare_keys(c)->count ? row->key[line] : 0;
}

static int by_function(const void *left, const void *right, void *opaque)
{
    const struct run_set_row *a = *(const struct run_set_row *const *)left;
    const struct run_set_row *b = *(const struct run_set_row *const *)right;
    const struct compare *c = opaque;
    int order = compare_functions(c, a, b);
    uint64_t x = line_of(c, a), y = line_of(c, b);
    return order != 0 ? order : (x > y) - (x < y);
}

static const struct run_set_row *some_set(const struct compare *c, const struct compare_row *row)
{
    for (size_t i = 0; i < c->set_count; i++)
        if (row->set[i] != NULL)
            return row->set[i];
    return NULL; /* not reached: each row is in at least one run set */
}

static int by_key(const void *left, const void *right, void *opaque)
{
    const struct compare *c = opaque;
    const struct run_set_row *a = some_set(c, left), *b = some_set(c, right);
    int order = 0;
    for (size_t i = 0; i < compare_keys(c)->count && order == 0; i++)
        order = compare_key(c, a, b, i);
    if (order != 0)
        return order;
    /* --match line: a line that moved, and a new line in its place */
    const struct compare_row *x = left, *y = right;
    return (x->set[0] == NULL) - (y->set[0] == NULL);
}

static bool is_called(const struct compare *c, const struct run_set_row *row, const char *label)
{
    for (size_t i = 0; i < compare_keys(c)->count; i++) {
        const char *text = compare_text(c, row, i);
        if (text == NULL || strcmp(text, label) != 0)
            return false;
    }
    return true;
}

bool compare_is_label(const struct compare *c, const struct compare_row *row)
{
    const struct run_set_row *any = some_set(c, row);
    for (size_t i = 0; energy_label(i) != NULL; i++)
        if (is_called(c, any, energy_label(i)))
            return true;
    return false;
}

bool compare_is_kernel(const struct compare *c, const struct compare_row *row)
{
    return is_called(c, some_set(c, row), LABEL_KERNEL);
}

/* ---- matching ---- */

/* Rows of the comparison by tuple: those of the base, and those only in other run sets. Number + 1;
 * 0: none. */
struct joiner {
    struct compare *compare;
    size_t *base, *extra;
};

static size_t new_row(struct compare *c)
{
    mem_reserve(&c->rows, &c->capacity, c->count + 1, sizeof *c->rows);
    c->rows[c->count].set = mem_zalloc(c->set_count, sizeof *c->rows->set);
    return ++c->count;
}

/* Puts ROW of run set NUMBER beside row BASE of the base (NULL: none). */
static void join(struct joiner *j, size_t number, const struct run_set_row *row,
                 const struct run_set_row *base)
{
    size_t *at = base != NULL ? &j->base[base->tuple] : &j->extra[row->tuple];
    if (*at == 0)
        *at = new_row(j->compare);
    j->compare->rows[*at - 1].set[number] = row;
}

static void join_by_name(struct joiner *j, size_t number)
{
    const struct run_set *set = &j->compare->sets[number];
    for (size_t i = 0; i < set->count; i++)
        join(j, number, &set->rows[i], run_set_find(&j->compare->sets[0], set->rows[i].tuple));
}

/* The rows of a run set, sorted by function and line. */
struct ordered {
    const struct run_set_row **rows;
    size_t count;
};

static struct ordered order_rows(const struct compare *c, const struct run_set *set)
{
    struct ordered all = {mem_zalloc(set->count + 1, sizeof *all.rows), set->count};
    for (size_t i = 0; i < set->count; i++)
        all.rows[i] = &set->rows[i];
    if (all.count > 0)
        qsort_r(all.rows, all.count, sizeof *all.rows, by_function, (void *)c);
    return all;
}

/* The end of the rows of the function whose rows start at FROM. */
static size_t end_of_function(const struct compare *c, const struct ordered *all, size_t from)
{
    size_t end = from;
    while (end < all->count && compare_functions(c, all->rows[from], all->rows[end]) == 0)
        end++;
    return end;
}

enum { MAX_LINES = 1 << 24 }; /* no source has more; larger numbers and 0 match only themselves */

/* Lines FROM .. END for match_lines. Sets *SKIPPED to the number of rows at the beginning that have
 * line 0. The caller frees the result. */
static struct line_weight *weigh_lines(const struct compare *c, const struct ordered *all,
                                       size_t from, size_t end, size_t *skipped, size_t *count)
{
    struct line_weight *lines = mem_zalloc(end - from + 1, sizeof *lines);
    *skipped = *count = 0;
    for (size_t i = from; i < end; i++) {
        uint64_t line = line_of(c, all->rows[i]);
        double weight = exact_to_double(all->rows[i]->time, TIME_SHIFT, 1);
        if (line == 0)
            ++*skipped;
        else if (line < MAX_LINES)
            lines[(*count)++] = (struct line_weight){line, weight > 0 ? weight : 0};
    }
    return lines;
}

/* Joins rows A0 .. A1 of the base and B0 .. B1 of run set NUMBER, which belong to the same function. */
static void join_lines(struct joiner *j, size_t number, const struct ordered *a, size_t a0,
                       size_t a1, const struct ordered *b, size_t b0, size_t b1)
{
    size_t n, m, a_zero, b_zero;
    struct line_weight *base = weigh_lines(j->compare, a, a0, a1, &a_zero, &n);
    struct line_weight *other = weigh_lines(j->compare, b, b0, b1, &b_zero, &m);
    size_t *partner = mem_zalloc(n + 1, sizeof *partner);
    const struct run_set_row **of = mem_zalloc(b1 - b0 + 1, sizeof *of); /* [rows of B] */
    match_lines(base, n, other, m, partner);
    for (size_t i = 0; i < n; i++)
        if (partner[i] != NO_PARTNER)
            of[b_zero + partner[i]] = a->rows[a0 + a_zero + i];
    for (size_t i = b0; i < b1; i++) {
        bool aligned = i - b0 >= b_zero && i - b0 < b_zero + m;
        join(j, number, b->rows[i],
             aligned ? of[i - b0] : run_set_find(&j->compare->sets[0], b->rows[i]->tuple));
    }
    free(base);
    free(other);
    free(partner);
    free(of);
}

static void join_by_line(struct joiner *j, size_t number)
{
    const struct compare *c = j->compare;
    struct ordered base = order_rows(c, &c->sets[0]), other = order_rows(c, &c->sets[number]);
    size_t a = 0;
    for (size_t b = 0, end; b < other.count; b = end) {
        end = end_of_function(c, &other, b);
        while (a < base.count && compare_functions(c, base.rows[a], other.rows[b]) < 0)
            a++;
        size_t a_end = a;
        while (a_end < base.count && compare_functions(c, base.rows[a_end], other.rows[b]) == 0)
            a_end++;
        join_lines(j, number, &base, a, a_end, &other, b, end);
        a = a_end;
    }
    free(base.rows);
    free(other.rows);
}

/* Keeps only the rows that all run sets have. */
static void drop_uncommon(struct compare *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        bool common = true;
        for (size_t s = 0; s < c->set_count; s++)
            common &= c->rows[i].set[s] != NULL;
        if (common)
            c->rows[kept++] = c->rows[i];
        else
            free(c->rows[i].set);
    }
    c->count = kept;
}

/* The rows by their shares of the base, largest first. The caller frees them. */
static struct ranked *rank_by_share(const struct compare *c)
{
    enum compare_metric metric = c->options.by_energy ? COMPARE_ENERGY : COMPARE_TIME;
    const struct run_set *base = &c->sets[0];
    double whole = run_set_value(base, &base->total, metric);
    struct ranked *ranked = mem_zalloc(c->count + 1, sizeof *ranked);
    for (size_t i = 0; i < c->count; i++) {
        double value = run_set_value(base, c->rows[i].set[0], metric);
        ranked[i] = (struct ranked){whole > 0 && value > 0 ? value / whole : 0, i};
    }
    ranked_sort(ranked, c->count);
    return ranked;
}

/* Keeps only the largest rows of the base, as chosen by the options. */
static void drop_small(struct compare *c)
{
    const struct compare_options *o = &c->options;
    if (o->largest == 0 && o->threshold == 0 && o->cumulative == 0)
        return;
    struct ranked *ranked = rank_by_share(c);
    struct compare_row *rows = mem_zalloc(c->count + 1, sizeof *rows);
    double sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        bool keep = ranked[i].amount > 0 && (o->largest == 0 || kept < o->largest) &&
                    ranked[i].amount >= o->threshold && (o->cumulative == 0 || sum < o->cumulative);
        sum += ranked[i].amount;
        if (keep)
            rows[kept++] = c->rows[ranked[i].index];
        else
            free(c->rows[ranked[i].index].set);
    }
    free(c->rows);
    free(ranked);
    c->rows = rows;
    c->count = kept;
}

static void find_quantity(struct compare *c)
{
    c->quantity = c->sets[0].quantity;
    for (size_t i = 0; i < c->set_count; i++)
        if (c->sets[i].quantity_mixed || !quantity_same(&c->quantity, &c->sets[i].quantity))
            c->quantity.name = NULL;
}

void compare_finish(struct compare *c)
{
    size_t tuples = strings_count(c->tuples);
    struct joiner j = {c, mem_zalloc(tuples, sizeof *j.base), mem_zalloc(tuples, sizeof *j.extra)};
    for (size_t i = 0; i < c->set_count; i++)
        run_set_finish(&c->sets[i]);
    join_by_name(&j, 0);
    for (size_t i = 1; i < c->set_count; i++) {
        if (c->options.rules.lines)
            join_by_line(&j, i);
        else
            join_by_name(&j, i);
    }
    if (c->options.common)
        drop_uncommon(c);
    drop_small(c);
    if (c->count > 0)
        qsort_r(c->rows, c->count, sizeof *c->rows, by_key, c);
    free(j.base);
    free(j.extra);
    find_quantity(c);
}
