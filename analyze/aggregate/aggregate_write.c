/* Writes an aggregate as pbin, for example as a partial result of a cluster.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/aggregate_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static char *join_keys(const struct pbin_keys *list)
{
    char *keys = mem_strdup("");
    for (size_t i = 0; i < list->count; i++)
        mem_append(&keys, "%s%s", i > 0 ? "," : "", pbin_key_get((size_t)list->key[i])->name);
    return keys;
}

static void write_runs(const struct aggregate *a, struct pbin_writer *writer)
{
    for (size_t i = 0; i < aggregate_run_count(a); i++) {
        struct pbin_run run = *aggregate_run(a, i);
        run.name = pbin_define_string(writer, aggregate_text(a, run.name));
        pbin_put_run(writer, &run);
    }
}

static void write_rows(const struct aggregate *a, struct pbin_writer *writer)
{
    const struct pbin_keys *keys = aggregate_keys(a);
    for (size_t r = 0; r < aggregate_row_count(a); r++) {
        struct pbin_row row = *aggregate_row(a, r);
        if (row.sums.runs == 0)
            continue;
        for (size_t i = 0; i < keys->count; i++)
            if (pbin_key_get((size_t)keys->key[i])->is_text)
                row.key[i] = pbin_define_string(writer, aggregate_text(a, row.key[i]));
        pbin_put_row(writer, &row, keys->count);
    }
}

static void write_checksums(const struct aggregate *a, struct pbin_writer *writer)
{
    size_t count;
    struct pbin_checksum *all = rowset_checksums(&a->rows, &count);
    for (size_t i = 0; i < count; i++)
        pbin_define_checksum(writer, pbin_define_string(writer, aggregate_text(a, all[i].binary)),
                             pbin_define_string(writer, aggregate_text(a, all[i].file)),
                             pbin_define_string(writer, aggregate_text(a, all[i].md5)));
    free(all);
}

/* The numbers of rows in the output, indexed by their numbers here. The caller frees them. */
static uint32_t *number_rows(const struct aggregate *a)
{
    uint32_t *number = mem_alloc((aggregate_row_count(a) + 1) * sizeof *number), written = 0;
    for (size_t r = 0; r < aggregate_row_count(a); r++) {
        number[r] = written;
        written += aggregate_row(a, r)->sums.runs > 0;
    }
    return number;
}

static void write_measures(const struct aggregate *a, struct pbin_writer *writer)
{
    const struct measures *m = aggregate_measures(a);
    uint32_t *number = number_rows(a);
    for (size_t i = 0; i < m->count; i++) {
        struct pbin_measure kind = m->kind[i];
        kind.name = pbin_define_string(writer, aggregate_text(a, kind.name));
        kind.unit = pbin_define_string(writer, aggregate_text(a, kind.unit));
        uint32_t measure = pbin_define_measure(writer, &kind);
        for (size_t r = 0; r < aggregate_row_count(a); r++) {
            const struct measure_cell *cell = measures_get(m, i, r);
            if (cell != NULL && kind.type == PBIN_HISTOGRAM)
                pbin_put_histogram(writer, &(struct pbin_histogram){number[r], measure,
                                                                    cell->buckets, cell->bucket});
            else if (cell != NULL)
                pbin_put_measured(writer, &(struct pbin_measured){number[r], measure, cell->total});
        }
    }
    free(number);
}

static void write_arcs(const struct aggregate *a, struct pbin_writer *writer)
{
    for (size_t i = 0; i < aggregate_arc_count(a); i++) {
        const struct pbin_arc *from = aggregate_arc(a, i);
        struct pbin_arc arc = {
            .caller_binary = pbin_define_string(writer, aggregate_text(a, from->caller_binary)),
            .caller = pbin_define_string(writer, aggregate_text(a, from->caller)),
            .callee_binary = pbin_define_string(writer, aggregate_text(a, from->callee_binary)),
            .callee = pbin_define_string(writer, aggregate_text(a, from->callee)),
            .count = from->count,
        };
        pbin_put_arc(writer, &arc);
    }
}

/* ---- sums for least squares ---- */

struct ordered {
    uint32_t row; /* after rowset_sort */
    uint16_t column;
};

static int compare_ordered(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Puts the columns of the sums in the order of their rows, so that equal sums give identical
 * files. */
static void order_columns(const struct aggregate *a, struct ordered *order)
{
    uint32_t *position = aggregate_positions(a);
    for (size_t c = 0; c < a->fit->columns; c++)
        order[c] = (struct ordered){c < FIT_ROW ? 0 : position[a->fit->row[c]], (uint16_t)c};
    qsort(order + FIT_ROW, a->fit->columns - FIT_ROW, sizeof *order, compare_ordered);
    free(position);
}

static void write_column(const struct aggregate *a, struct pbin_writer *writer,
                         const struct ordered *from)
{
    const struct pbin_keys *keys = aggregate_keys(a);
    size_t c = from->column;
    struct pbin_fit_column column = {.kind = c < FIT_ROW ? (enum pbin_fit_kind)c : PBIN_FIT_ROW,
                                     .cpu = a->fit->cpu[c],
                                     .switched = a->fit->switched[c]};
    for (size_t i = 0; i < keys->count && c >= FIT_ROW; i++) {
        column.key[i] = aggregate_row(a, from->row)->key[i];
        if (pbin_key_get((size_t)keys->key[i])->is_text)
            column.key[i] = pbin_define_string(writer, aggregate_text(a, column.key[i]));
    }
    pbin_put_fit_column(writer, &column, keys->count);
}

static void write_fit(const struct aggregate *a, struct pbin_writer *writer)
{
    struct ordered order[FIT_COLUMNS];
    order_columns(a, order);
    for (size_t c = 0; c < a->fit->columns; c++)
        write_column(a, writer, &order[c]);
    for (uint32_t g = 0; g < PBIN_FIT_GROUPS; g++)
        for (uint32_t i = 0; i < a->fit->columns; i++)
            for (uint32_t j = 0; j <= i; j++) {
                exact value = *fit_sum(a->fit, g, order[i].column, order[j].column);
                struct pbin_fit_sum sum = {g, i, j, value};
                if (value != 0)
                    pbin_put_fit_sum(writer, &sum);
            }
}

/* Returns whether a part was left out. Energy that is in no row then belongs to the whole
 * profile. */
static bool is_filtered(const struct aggregate *a)
{
    for (size_t r = 0; r < aggregate_row_count(a); r++)
        if (aggregate_row(a, r)->sums.runs > 0 && aggregate_is_excluded(a, aggregate_row(a, r)))
            return true;
    return false;
}

int aggregate_write(const struct aggregate *a, struct output *out, const char *tool)
{
    struct pbin_meta meta = *aggregate_meta(a);
    char *keys = join_keys(aggregate_keys(a));
    meta.keys = keys;
    meta.tool = (char *)tool;
    meta.unattributed =
        is_filtered(a) ? 0 : exact_to_double(aggregate_unattributed(a), ENERGY_SHIFT, 1);
    struct pbin_writer *writer = pbin_writer_open(out, &meta);
    write_runs(a, writer);
    write_rows(a, writer);
    write_checksums(a, writer);
    write_measures(a, writer);
    write_arcs(a, writer);
    if (a->fit != NULL)
        write_fit(a, writer);
    free(keys);
    return pbin_writer_close(writer, 0);
}
