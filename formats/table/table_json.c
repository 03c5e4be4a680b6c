/* Tables as JSON: one document {"profile": facts, "columns": [...], "rows": [...], "total": {...}},
 * or one object per line. Rows are written as they arrive.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/table/json.h"
#include "formats/table/table.h"

struct state {
    struct output *out;
    const struct table_head *head;
    bool lines; /* one object per line and nothing else */
    size_t rows;
    bool has_total;
};

static json_t *cell_value(const struct table_cell *cell)
{
    char text[32];
    switch (cell->kind) {
    case CELL_TEXT:
        return json_of_text(cell->text);
    case CELL_COUNT:
        return json_of_count(cell->count);
    case CELL_HEX:
        snprintf(text, sizeof text, "0x%" PRIx64, cell->count);
        return json_string(text);
    case CELL_REAL:
        return json_of_real(cell->real);
    case CELL_MISSING:
        break;
    }
    return json_null();
}

static json_t *facts(const struct table_head *head)
{
    json_t *object = json_object();
    for (size_t i = 0; i < head->fact_count; i++)
        json_object_set_new(object, head->facts[i].name, cell_value(&head->facts[i].cell));
    return object;
}

static json_t *columns(const struct table_head *head)
{
    json_t *array = json_array();
    for (size_t i = 0; i < head->column_count; i++)
        json_array_append_new(array,
                              json_pack("{s:o, s:o}", "name", json_of_text(head->columns[i].name),
                                        "unit", json_of_text(head->columns[i].unit)));
    return array;
}

static struct state *new_state(struct output *out, const struct table_head *head)
{
    struct state *state = mem_zalloc(1, sizeof *state);
    state->out = out;
    state->head = head;
    return state;
}

static void *begin_document(struct output *out, const struct table_head *head)
{
    json_begin();
    output_printf(out, "{\"profile\":");
    json_write(out, facts(head));
    output_printf(out, ",\n\"columns\":");
    json_write(out, columns(head));
    output_printf(out, ",\n\"rows\":[");
    return new_state(out, head);
}

static void *begin_lines(struct output *out, const struct table_head *head)
{
    json_begin();
    struct state *state = new_state(out, head);
    state->lines = true;
    return state;
}

static void row(void *opaque, const struct table_cell *cells, bool total)
{
    struct state *state = opaque;
    json_t *object = json_object();
    for (size_t i = 0; i < state->head->column_count; i++)
        json_object_set_new(object, state->head->columns[i].name, cell_value(&cells[i]));
    if (!state->lines && total)
        output_printf(state->out, "],\n\"total\":");
    else if (!state->lines)
        output_printf(state->out, state->rows > 0 ? ",\n" : "\n");
    json_write(state->out, object);
    if (state->lines)
        output_printf(state->out, "\n");
    state->rows++;
    state->has_total |= total;
}

static void end(void *opaque)
{
    struct state *state = opaque;
    if (!state->lines)
        output_printf(state->out, state->has_total ? "}\n" : "]}\n");
    free(state);
}

const struct table_format table_json = {.name = "json",
                                        .suffix = ".json",
                                        .help = "one document with facts, rows and total",
                                        .longest = TABLE_LONGEST_DATA,
                                        .begin = begin_document,
                                        .row = row,
                                        .end = end};
const struct table_format table_jsonl = {.name = "jsonl",
                                         .suffix = ".jsonl",
                                         .help = "one JSON object per line",
                                         .longest = TABLE_LONGEST_DATA,
                                         .begin = begin_lines,
                                         .row = row,
                                         .end = end};
