/* The measures of an aggregated pbin.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyze/dump/dump.h"
#include "base/log_buckets.h"
#include "base/memory.h"

/* The table: keys, measure, and VALUES further columns. */
struct measure_table {
    struct pbin_reader *reader;
    struct table *table;
    const struct pbin_keys *keys;
    struct pbin_row *rows; /* read so far */
    size_t count, capacity;
    struct table_cell cells[PBIN_MAX_KEYS + 8];
};

enum { VALUES = 6 };

/* Fills in the keys of row NUMBER, then the measure and its unit. Returns the number of cells, or 0
 * with ERR filled. */
static size_t fill_keys(struct measure_table *t, uint32_t number, uint32_t measure,
                        struct error *err)
{
    const struct pbin_definitions *all = pbin_reader_definitions(t->reader);
    const struct pbin_measure *kind = &all->measures[measure];
    size_t n = 0;
    for (; n < t->keys->count; n++) {
        const struct pbin_key *key = pbin_key_get((size_t)t->keys->key[n]);
        uint64_t value = number < t->count ? t->rows[number].key[n] : 0; /* the row was read */
        if (key->is_text && value >= strings_count(all->strings)) {
            error_set(err, NULL, NO_OFFSET, "row refers to an undefined text");
            return 0;
        }
        t->cells[n] = key->is_text ? cell_text(strings_get(all->strings, (uint32_t)value))
                      : strcmp(key->name, "pc") == 0 ? cell_hex(value)
                                                     : cell_count(value);
    }
    t->cells[n++] = cell_text(strings_get(all->strings, kind->name));
    t->cells[n++] = cell_text(strings_get(all->strings, kind->unit));
    return n;
}

static struct table_cell value_cell(const struct pbin_measure *kind, exact value)
{
    if (kind->type == PBIN_INTEGER && value >= 0 && value <= (exact)UINT64_MAX)
        return cell_count((uint64_t)value);
    return cell_real(exact_to_double(value, kind->type == PBIN_REAL ? MEASURE_SHIFT : 0, 1));
}

static int show_measured(struct measure_table *t, const struct pbin_measured *measured,
                         struct error *err)
{
    const struct pbin_measure *kind =
        &pbin_reader_definitions(t->reader)->measures[measured->measure];
    size_t n = fill_keys(t, measured->row, measured->measure, err);
    if (n == 0)
        return -1;
    t->cells[n++] = cell_count(measured->value.runs);
    t->cells[n++] = value_cell(kind, measured->value.value);
    t->cells[n++] = value_cell(kind, measured->value.least);
    t->cells[n] = value_cell(kind, measured->value.most);
    table_row(t->table, t->cells);
    return 0;
}

static int show_histogram(struct measure_table *t, const struct pbin_histogram *histogram,
                          struct error *err)
{
    size_t n = fill_keys(t, histogram->row, histogram->measure, err);
    for (size_t i = 0; i < histogram->count && n > 0; i++) {
        uint32_t bucket = histogram->buckets[i].bucket;
        t->cells[n] = cell_count(bucket);
        t->cells[n + 1] = cell_real(log_bucket_begin(bucket));
        t->cells[n + 2] = cell_real(log_bucket_begin(bucket + 1));
        t->cells[n + 3] = cell_count(histogram->buckets[i].count);
        table_row(t->table, t->cells);
    }
    return n > 0 ? 0 : -1;
}

static int take(struct measure_table *t, const struct pbin_batch *batch, bool histograms,
                struct error *err)
{
    if (batch->item == PBIN_ROW) {
        mem_reserve(&t->rows, &t->capacity, t->count + 1, sizeof *t->rows);
        t->rows[t->count++] = batch->row;
    }
    if (batch->item == PBIN_MEASURED && !histograms)
        return show_measured(t, &batch->measured, err);
    if (batch->item == PBIN_BUCKETS && histograms)
        return show_histogram(t, &batch->histogram, err);
    return 0;
}

static int show(struct pbin_reader *reader, bool histograms, const struct dump_request *request,
                struct output *out, struct error *err)
{
    static const struct table_column values[2][VALUES] = {
        {TABLE_COLUMN("measure", "", true), TABLE_COLUMN("unit", "", true),
         TABLE_COLUMN("runs", "", false), TABLE_COLUMN("value", "", false),
         TABLE_COLUMN("least", "", false), TABLE_COLUMN("most", "", false)},
        {TABLE_COLUMN("measure", "", true), TABLE_COLUMN("unit", "", true),
         TABLE_COLUMN("bucket", "", false), TABLE_COLUMN("from", "", false),
         TABLE_COLUMN("to", "", false), TABLE_COLUMN("count", "", false)}};
    struct table_column columns[PBIN_MAX_KEYS + VALUES];
    struct measure_table t = {.reader = reader, .keys = pbin_reader_keys(reader)};
    struct pbin_batch batch;
    int got;
    if (t.keys->count == 0)
        return error_set(err, NULL, NO_OFFSET, "full profiles contain no measures of rows");
    for (size_t i = 0; i < t.keys->count; i++)
        columns[i] = (struct table_column){
            .name = pbin_key_get((size_t)t.keys->key[i])->name, .unit = "", .is_text = true};
    memcpy(columns + t.keys->count, values[histograms], sizeof values[0]);
    struct table_head head = {
        .columns = columns, .column_count = t.keys->count + VALUES, .style = request->style};
    pbin_reader_want(reader, PBIN_WANT_MEASURES);
    t.table = table_open(request->format, out, &head);
    while ((got = pbin_reader_next(reader, &batch, err)) > 0)
        if (take(&t, &batch, histograms, err) != 0 || output_write(out, "", 0) != 0) {
            got = -1;
            break;
        }
    table_close(t.table);
    free(t.rows);
    return got;
}

int dump_measures(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err)
{
    return show(reader, false, request, out, err);
}

int dump_histograms(struct pbin_reader *reader, const struct dump_request *request,
                    struct output *out, struct error *err)
{
    return show(reader, true, request, out, err);
}
