/* Tables as CSV (RFC 4180): a header row with units, and numbers that round-trip.
 *
 *   binary,function,time [s],share [%]
 *   burn,burn_50,1.0012,50.06
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "formats/table/table.h"

struct state {
    struct output *out;
    const struct table_head *head;
};

static void put_text(struct output *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        output_write(out, text, strlen(text));
        return;
    }
    output_write(out, "\"", 1);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            output_write(out, "\"", 1);
        output_write(out, text, 1);
    }
    output_write(out, "\"", 1);
}

static void put_cell(struct output *out, const struct table_cell *cell)
{
    char text[40];
    switch (cell->kind) {
    case CELL_TEXT:
        put_text(out, cell->text);
        break;
    case CELL_COUNT:
        output_printf(out, "%" PRIu64, cell->count);
        break;
    case CELL_HEX:
        output_printf(out, "0x%" PRIx64, cell->count);
        break;
    case CELL_REAL:
        if (isfinite(cell->real)) {
            format_real(text, sizeof text, cell->real);
            output_write(out, text, strlen(text));
        }
        break;
    case CELL_MISSING:
        break;
    }
}

static void *begin(struct output *out, const struct table_head *head)
{
    struct state *state = mem_zalloc(1, sizeof *state);
    state->out = out;
    state->head = head;
    for (size_t i = 0; i < head->column_count; i++) {
        const struct table_column *column = &head->columns[i];
        char *title = column->unit[0] != '\0' ? mem_printf("%s [%s]", column->name, column->unit)
                                              : mem_strdup(column->name);
        output_write(out, ",", i > 0);
        put_text(out, title);
        free(title);
    }
    output_write(out, "\r\n", 2);
    return state;
}

static void row(void *opaque, const struct table_cell *cells, bool total)
{
    struct state *state = opaque;
    (void)total; /* its key identifies it */
    for (size_t i = 0; i < state->head->column_count; i++) {
        output_write(state->out, ",", i > 0);
        put_cell(state->out, &cells[i]);
    }
    output_write(state->out, "\r\n", 2);
}

const struct table_format table_csv = {.name = "csv",
                                       .suffix = ".csv",
                                       .help = "RFC 4180, units in the header row",
                                       .longest = TABLE_LONGEST_DATA,
                                       .begin = begin,
                                       .row = row,
                                       .end = free};
