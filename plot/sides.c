/* Two sides of a comparison.
 * SPDX-License-Identifier: MIT */
#include "plot/sides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/names.h"

/* Keys of a row as one text that is the same in both profiles. Caller frees. */
static char *key_of(const struct aggregate *a, const struct pbin_row *row)
{
    const struct aggregate_options *o = aggregate_options_of(a);
    char *key = mem_strdup("");
    for (size_t k = 0; k < o->key_count; k++) {
        bool text = pbin_key_get((size_t)o->keys[k])->is_text;
        char *longer = text ? mem_printf("%s\n%s", key, aggregate_text(a, row->key[k]))
                            : mem_printf("%s\n%llu", key, (unsigned long long)row->key[k]);
        free(key);
        key = longer;
    }
    return key;
}

static const char *text_of(const void *aggregate, uint64_t number)
{
    return aggregate_text(aggregate, number);
}

/* The whole name: rows of two profiles must not be told apart by different keys. */
static char *name_of(const struct aggregate *a, const struct pbin_row *row)
{
    const struct aggregate_options *o = aggregate_options_of(a);
    struct name_source source = {o->keys + (o->key_count - 1), 1, text_of, a};
    struct pbin_row last = {.key = {row->key[o->key_count - 1]}};
    const struct pbin_row *rows[] = {&last};
    char **names = names_make(&source, rows, 1), *name = names[0];
    free(names);
    return name;
}

static void finish_row(struct side_row *row)
{
    struct welch w = welch_test(&row->base, &row->with);
    row->difference = row->with.mean - row->base.mean;
    row->ratio = row->base.mean != 0   ? row->with.mean / row->base.mean
                 : row->with.mean != 0 ? INFINITY
                                       : 1;
    row->p = w.p;
    row->error = NAN;
    if (isfinite(w.df) && w.df > 0 && w.t != 0)
        row->error = student_quantile(0.95, w.df) * fabs(row->difference / w.t);
}

static int compare(const void *left, const void *right)
{
    const struct side_row *a = left, *b = right;
    double x = fabs(a->difference), y = fabs(b->difference);
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void join(struct sides *s)
{
    struct strings *keys = strings_new();
    s->rows = mem_zalloc(aggregate_row_count(s->base) + aggregate_row_count(s->with) + 1,
                         sizeof *s->rows);
    for (int side = 0; side < 2; side++) {
        const struct aggregate *a = side == 0 ? s->base : s->with;
        for (size_t i = 0; i < aggregate_row_count(a); i++) {
            const struct pbin_row *row = aggregate_row(a, i);
            char *key = key_of(a, row);
            size_t at = strings_intern(keys, key) - 1;
            free(key);
            if (at == s->count) {
                s->rows[s->count++] = (struct side_row){.name = name_of(a, row)};
                ranking_moments(s->base, NULL, s->metric, &s->rows[at].base);
                ranking_moments(s->with, NULL, s->metric, &s->rows[at].with);
            }
            ranking_moments(a, row, s->metric, side == 0 ? &s->rows[at].base : &s->rows[at].with);
        }
    }
    strings_delete(keys);
}

static void judge(struct sides *s)
{
    double *p = mem_zalloc(s->count + 1, sizeof *p);
    for (size_t i = 0; i < s->count; i++) {
        struct side_row *row = &s->rows[i];
        finish_row(row);
        row->other = strcmp(row->name, LABEL_IDLE) == 0;
        s->base_total += row->base.mean;
        s->with_total += row->with.mean;
        p[i] = row->p;
    }
    holm_adjust(p, s->count);
    for (size_t i = 0; i < s->count; i++)
        s->rows[i].p = p[i];
    free(p);
    qsort(s->rows, s->count, sizeof *s->rows, compare);
    s->all = s->count;
}

static int choose_paths(struct sides *s, const struct plot *plot, struct error *err)
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

int sides_read(struct sides *s, const struct plot *plot, struct error *err)
{
    *s = (struct sides){0};
    if (choose_paths(s, plot, err) != 0)
        return -1;
    s->base = ranking_read(plot, s->base_paths, s->base_count, err);
    if (s->base == NULL)
        return -1;
    const struct aggregate_options *o = aggregate_options_of(s->base);
    s->with = ranking_read_keys(plot, s->with_paths, s->with_count, o->keys, o->key_count, err);
    int result = s->with == NULL ? -1 : ranking_metric(plot, s->base, &s->metric, err);
    if (result == 0 && s->metric == METRIC_ENERGY &&
        !quantity_same(aggregate_quantity(s->base), aggregate_quantity(s->with)))
        result = error_set(err, s->with_paths[0], NO_OFFSET, "does not hold the %s of the base",
                           aggregate_quantity(s->base)->name);
    if (result != 0) {
        sides_free(s);
        return -1;
    }
    join(s);
    judge(s);
    return 0;
}

void sides_limit(struct sides *s, size_t top)
{
    struct side_row rest = {.other = true, .error = NAN, .p = NAN};
    if (top == 0 || s->count <= top)
        return;
    for (size_t i = top; i < s->count; i++) {
        rest.base.mean += s->rows[i].base.mean;
        rest.with.mean += s->rows[i].with.mean;
        free(s->rows[i].name);
    }
    rest.name = mem_strdup(LABEL_OTHER);
    rest.difference = rest.with.mean - rest.base.mean;
    rest.ratio = rest.base.mean != 0 ? rest.with.mean / rest.base.mean : 1;
    s->rows[top] = rest;
    s->count = top + 1;
}

void sides_free(struct sides *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->rows[i].name);
    free(s->rows);
    aggregate_delete(s->base);
    aggregate_delete(s->with);
    *s = (struct sides){0};
}

void sides_write(const struct sides *s, struct output *out)
{
    const char *unit = ranking_metric_unit(s->base, s->metric);
    struct table_column columns[] = {{"name", "", true},    {"base", unit, false},
                                     {"with", unit, false}, {"difference", unit, false},
                                     {"ratio", "", false},  {"p", "", false}};
    struct table_head head = {.columns = columns, .column_count = 6};
    struct table *table = table_open(&table_csv, out, &head);
    for (size_t i = 0; i < s->count; i++) {
        const struct side_row *r = &s->rows[i];
        struct table_cell cells[] = {cell_text(r->name),      cell_real(r->base.mean),
                                     cell_real(r->with.mean), cell_real(r->difference),
                                     cell_real(r->ratio),     cell_real(r->p)};
        table_row(table, cells);
    }
    table_close(table);
}

static char *side_text(const char *const *paths, size_t count, size_t runs)
{
    const char *slash = strrchr(paths[0], '/'), *file = slash != NULL ? slash + 1 : paths[0];
    char *more = count > 1 ? mem_printf(" and %zu more", count - 1) : mem_strdup("");
    char *text =
        runs > 1 ? mem_printf("%s%s (%zu runs)", file, more, runs) : mem_printf("%s%s", file, more);
    free(more);
    return text;
}

char *sides_subtitle(const struct sides *s)
{
    char *base = side_text(s->base_paths, s->base_count, aggregate_run_count(s->base));
    char *with = side_text(s->with_paths, s->with_count, aggregate_run_count(s->with));
    char *text = mem_printf("%s against base %s", with, base);
    free(base);
    free(with);
    return text;
}
