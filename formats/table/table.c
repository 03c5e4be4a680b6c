/* Tables: the list of formats.
 * SPDX-License-Identifier: MIT */
#include "formats/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

static const struct table_format *const formats[] = {
    &table_text, &table_csv, &table_json, &table_jsonl, &table_markdown, &table_spreadsheet};

struct table {
    const struct table_format *format;
    void *state;
    size_t column_count;
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
    return error_set(err, path, NO_OFFSET, "unknown suffix, expected %s%s%s (or use --format)",
                     known, more != NULL ? " or " : "", more != NULL ? more : "");
}

struct table *table_open(const struct table_format *format, struct output *out,
                         const struct table_head *head)
{
    struct table *table = mem_zalloc(1, sizeof *table);
    table->format = format;
    table->column_count = head->column_count;
    table->state = format->begin(out, head);
    return table;
}

static bool is_too_long(const struct table *table, const struct table_cell *cell)
{
    return cell->kind == CELL_TEXT &&
           strnlen(cell->text, table->format->longest + 1) > table->format->longest;
}

/* A row with a text that is too long: "..." replaces its end. */
static void put_cut(struct table *table, const struct table_cell *cells, bool total)
{
    struct table_cell *cut = mem_zalloc(table->column_count, sizeof *cut);
    for (size_t i = 0; i < table->column_count; i++) {
        cut[i] = cells[i];
        if (is_too_long(table, &cells[i]))
            cut[i].text =
                mem_printf("%.*s...", (int)utf8_limit(cells[i].text, table->format->longest - 3),
                           cells[i].text);
    }
    table->format->row(table->state, cut, total);
    for (size_t i = 0; i < table->column_count; i++)
        if (cut[i].kind == CELL_TEXT && cut[i].text != cells[i].text)
            free((char *)cut[i].text);
    free(cut);
}

static void put(struct table *table, const struct table_cell *cells, bool total)
{
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
    free(table);
}
