/* Tables: the list of formats.
 * SPDX-License-Identifier: MIT */
#include "formats/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct table_format *const formats[] = {&table_text, &table_csv, &table_json,
                                                     &table_jsonl, &table_markdown};

struct table {
    const struct table_format *format;
    void *state;
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
                         : path_has_suffix(path, formats[i]->suffix))
            return formats[i];
    return name != NULL ? NULL : fallback;
}

struct table *table_open(const struct table_format *format, struct output *out,
                         const struct table_head *head)
{
    struct table *table = mem_zalloc(1, sizeof *table);
    table->format = format;
    table->state = format->begin(out, head);
    return table;
}

void table_row(struct table *table, const struct table_cell *cells)
{
    table->format->row(table->state, cells, false);
}

void table_total(struct table *table, const struct table_cell *cells)
{
    table->format->row(table->state, cells, true);
}

void table_close(struct table *table)
{
    table->format->end(table->state);
    free(table);
}
