/* Tables: the list of formats.
 * SPDX-License-Identifier: MIT */
#include "formats/table/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/elide.h"
#include "base/utf8.h"

static const struct table_format *const formats[] = {
    &table_text, &table_csv, &table_json, &table_jsonl, &table_markdown, &table_spreadsheet};

struct table {
    const struct table_format *format;
    void *state;
    size_t column_count; /* number of columns that the format gets */
    struct table_head head;
    struct table_column
        *columns; /* if the style names columns: these, and then the intervals that they need */
    size_t *from; /* and their numbers in the table */
    struct table_cell *cells;
    size_t shortened; /* total length of the names that lost their arguments [bytes] */
};

const char *table_format_name(size_t number)
{
    return number < sizeof formats / sizeof formats[0] ? formats[number]->name : NULL;
}

const struct table_format *table_format_choose(const char *name, const char *path,
                                               const struct table_format *fallback)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (name != NULL ? strcmp(formats[i]->name, name) == 0
                         : formats[i]->suffix != NULL && path_has_suffix(path, formats[i]->suffix))
            return formats[i];
    return name != NULL ? NULL : fallback;
}

void table_put_whole(struct output *out, const struct table_cell *cell)
{
    output_printf(out, cell->kind == CELL_HEX ? "0x%" PRIx64 : "%" PRIu64, cell->count);
}

int table_format_check(const char *name, const char *path, const char *more, struct error *err)
{
    char known[100];
    size_t used = 0;
    if (name != NULL || !path_has_any_suffix(path) || (more != NULL && path_has_suffix(path, more)))
        return 0;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i]->suffix == NULL)
            continue;
        if (path_has_suffix(path, formats[i]->suffix))
            return 0;
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "",
                                 formats[i]->suffix);
    }
    return error_set_usage(err, path, "unknown suffix, expected %s%s%s (or use --format)", known,
                           more != NULL ? " or " : "", more != NULL ? more : "");
}

static size_t find_column(const struct table_head *head, const char *name, size_t length)
{
    size_t i = 0;
    while (i < head->column_count && (strlen(head->columns[i].name) != length ||
                                      strncmp(head->columns[i].name, name, length) != 0))
        i++;
    return i;
}

static void unknown_column(struct output *out, const struct table_head *head, const char *name,
                           size_t length)
{
    char *known = mem_strdup(""), *longer;
    for (size_t i = 0; i < head->column_count; i++, known = longer) {
        longer = mem_printf("%s%s%s", known, i > 0 ? ", " : "", head->columns[i].name);
        free(known);
    }
    output_fail_usage(out, "unknown column '%.*s', expected one of %s",
                      (int)(length < 64 ? length : 64), name, known);
    free(known);
}

static void choose_column(struct table *table, const struct table_head *head, size_t number)
{
    table->from[table->column_count] = number;
    table->columns[table->column_count] = head->columns[number];
    table->columns[table->column_count].interval = 0;
    table->columns[table->column_count++].only_wide = false;
}

static bool is_chosen(const struct table *table, size_t number)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (table->from[i] == number)
            return true;
    return false;
}

/* Reduces HEAD to the columns that the user has named. */
static void choose_columns(struct table *table, const struct table_head *head, struct output *out)
{
    const char *at = head->style->columns;
    table->columns = mem_zalloc(2 * head->column_count + 1, sizeof *table->columns);
    table->from = mem_zalloc(2 * head->column_count + 1, sizeof *table->from);
    table->cells = mem_zalloc(2 * head->column_count + 1, sizeof *table->cells);
    for (bool more = true; more;) {
        size_t length = strcspn(at, ","), number = find_column(head, at, length);
        if (number == head->column_count)
            unknown_column(out, head, at, length);
        else if (!is_chosen(table, number))
            choose_column(table, head, number);
        more = at[length] != '\0';
        at += length + more;
    }
    size_t chosen = table->column_count;
    for (size_t i = 0; i < chosen && table->format == &table_text; i++) {
        size_t interval = head->columns[table->from[i]].interval;
        if (interval == 0 || is_chosen(table, interval))
            continue;
        table->columns[i].interval = table->column_count;
        choose_column(table, head, interval);
        table->columns[table->column_count - 1].only_wide = true;
    }
    table->head.columns = table->columns;
    table->head.column_count = table->column_count;
}

struct table *table_open(const struct table_format *format, struct output *out,
                         const struct table_head *head)
{
    struct table *table = mem_zalloc(1, sizeof *table);
    table->format = format;
    table->head = *head;
    if (head->style != NULL && head->style->columns != NULL)
        choose_columns(table, head, out);
    table->column_count = table->head.column_count;
    table->state = format->begin(out, &table->head);
    return table;
}

static bool is_too_long(const struct table *table, const struct table_cell *cell)
{
    return cell->kind == CELL_TEXT &&
           strnlen(cell->text, table->format->longest + 1) > table->format->longest;
}

/* Shortens TEXT, which is too long: removes arguments of a function as needed, or its end. The
 * former takes some time, so that after a while all texts lose their ends. Caller frees. */
static char *shorten(struct table *table, const char *text)
{
    enum { MAX_SHORTENED = 64 << 20 };
    const size_t length = strlen(text), longest = table->format->longest;
    const bool possible = length <= TABLE_MAX_DATA && table->shortened <= MAX_SHORTENED;
    table->shortened += possible ? length : 0;
    for (int step = ELIDE_PARAMETERS; possible && step < ELIDE_STEPS; step++) {
        char *shorter = elide_arguments(text, (enum elide_step)step);
        if (strlen(shorter) <= longest)
            return shorter;
        free(shorter);
    }
    return mem_printf("%.*s...", (int)utf8_limit(text, longest - 3), text);
}

/* Puts a row with a text that is too long. */
static void put_cut(struct table *table, const struct table_cell *cells, bool total)
{
    struct table_cell *cut = mem_zalloc(table->column_count, sizeof *cut);
    for (size_t i = 0; i < table->column_count; i++) {
        cut[i] = cells[i];
        if (is_too_long(table, &cells[i]))
            cut[i].text = shorten(table, cells[i].text);
    }
    table->format->row(table->state, cut, total);
    for (size_t i = 0; i < table->column_count; i++)
        if (cut[i].kind == CELL_TEXT && cut[i].text != cells[i].text)
            free((char *)cut[i].text);
    free(cut);
}

static void put(struct table *table, const struct table_cell *cells, bool total)
{
    for (size_t i = 0; table->from != NULL && i < table->column_count; i++)
        table->cells[i] = cells[table->from[i]];
    cells = table->from != NULL ? table->cells : cells;
    for (size_t i = 0; i < table->column_count; i++)
        if (is_too_long(table, &cells[i])) {
            put_cut(table, cells, total);
            return;
        }
    table->format->row(table->state, cells, total);
}

void table_row(struct table *table, const struct table_cell *cells)
{
    put(table, cells, false);
}

void table_total(struct table *table, const struct table_cell *cells)
{
    put(table, cells, true);
}

void table_close(struct table *table)
{
    table->format->end(table->state);
    free(table->columns);
    free(table->from);
    free(table->cells);
    free(table);
}
