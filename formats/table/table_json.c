/* Tables as JSON: one document {"profile": facts, "columns": [...], "rows": [...], "total": {...}},
 * or one object per line. Rows are written as they arrive.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "formats/table/table.h"

enum { FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY };

struct state {
    struct output *out;
    const struct table_head *head;
    bool lines; /* one object per line and nothing else */
    size_t rows;
    bool has_total;
};

static json_t *text_value(const char *text)
{
    char *valid = utf8_repair(text);
    json_t *value = json_string(valid);
    free(valid);
    return value;
}

static json_t *cell_value(const struct table_cell *cell)
{
    char text[32];
    switch (cell->kind) {
    case CELL_TEXT:
        return text_value(cell->text);
    case CELL_COUNT: /* jansson's integers end at 2^63 */
        return cell->count <= INT64_MAX ? json_integer((json_int_t)cell->count)
                                        : json_real((double)cell->count);
    case CELL_HEX:
        snprintf(text, sizeof text, "0x%" PRIx64, cell->count);
        return json_string(text);
    case CELL_REAL:
        return isfinite(cell->real) ? json_real(cell->real) : json_null();
    case CELL_MISSING:
        break;
    }
    return json_null();
}

/* Takes VALUE. */
static void dump(struct output *out, json_t *value)
{
    char *text = json_dumps(value, FLAGS);
    json_decref(value);
    if (text != NULL)
        output_write(out, text, strlen(text));
    free(text);
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
                              json_pack("{s:o, s:o}", "name", text_value(head->columns[i].name),
                                        "unit", text_value(head->columns[i].unit)));
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
    output_printf(out, "{\"profile\":");
    dump(out, facts(head));
    output_printf(out, ",\n\"columns\":");
    dump(out, columns(head));
    output_printf(out, ",\n\"rows\":[");
    return new_state(out, head);
}

static void *begin_lines(struct output *out, const struct table_head *head)
{
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
    dump(state->out, object);
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
                                        .begin = begin_document,
                                        .row = row,
                                        .end = end};
const struct table_format table_jsonl = {.name = "jsonl",
                                         .suffix = ".jsonl",
                                         .help = "one JSON object per line",
                                         .begin = begin_lines,
                                         .row = row,
                                         .end = end};
