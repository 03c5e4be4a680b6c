/* Tables as JSON: one document {"profile": facts, "columns": [...], "rows": [...], "total": {...}},
 * or one object per line. Rows are written as they arrive.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

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

static void put_cell(struct output *out, const struct table_cell *cell)
{
    switch (cell->kind) {
    case CELL_TEXT:
        json_put_text(out, cell->text);
        break;
    case CELL_COUNT:
        json_put_count(out, cell->count);
        break;
    case CELL_HEX:
        output_printf(out, "\"0x%" PRIx64 "\"", cell->count);
        break;
    case CELL_REAL:
        json_put_real(out, cell->real);
        break;
    case CELL_MISSING:
        output_write(out, "null", 4);
        break;
    }
}

/* Writes a member of an object; the caller writes the brackets. */
static void put_member(struct output *out, size_t number, const char *name,
                       const struct table_cell *cell)
{
    output_write(out, ",", number > 0);
    json_put_text(out, name);
    output_write(out, ":", 1);
    put_cell(out, cell);
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
    output_printf(out, "{\"profile\":{");
    for (size_t i = 0; i < head->fact_count; i++)
        put_member(out, i, head->facts[i].name, &head->facts[i].cell);
    output_printf(out, "},\n\"columns\":");
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
    if (!state->lines && total)
        output_printf(state->out, "],\n\"total\":");
    else if (!state->lines)
        output_printf(state->out, state->rows > 0 ? ",\n" : "\n");
    output_write(state->out, "{", 1);
    for (size_t i = 0; i < state->head->column_count; i++)
        put_member(state->out, i, state->head->columns[i].name, &cells[i]);
    output_write(state->out, "}", 1);
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
                                        .longest = TABLE_MAX_DATA,
                                        .begin = begin_document,
                                        .row = row,
                                        .end = end};
const struct table_format table_jsonl = {.name = "jsonl",
                                         .suffix = ".jsonl",
                                         .help = "one JSON object per line",
                                         .longest = TABLE_MAX_DATA,
                                         .begin = begin_lines,
                                         .row = row,
                                         .end = end};
