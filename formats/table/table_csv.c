/* Tables as CSV (RFC 4180, but lines end in LF): a header row with units, and numbers that
 * round-trip. In "spreadsheet", every text is quoted, and texts that a spreadsheet would take for
 * formulas begin with an apostrophe.
 *
 *   binary,function,time [s],share [%]
 *   burn,burn_50,1.0012,50.06
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "formats/table/table.h"

struct state {
    struct output *out;
    const struct table_head *head;
    struct table_style style;
    bool guarded; /* against formulas */
};

/* The name of code without a symbol. */
static const char UNKNOWN[] = "_unknown";

/* In some languages, spreadsheets also accept the full-width forms. */
static bool is_formula(const char *text)
{
    static const char *const begins[] = {
        "=", "+", "-", "@", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
    text += strspn(text, " ");
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static void put_quoted(struct output *out, const char *text, const char *first)
{
    output_printf(out, "\"%s", first);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            output_write(out, "\"", 1);
        output_write(out, text, 1);
    }
    output_write(out, "\"", 1);
}

/* Writes texts as in tables for people, because CSV is shown on terminals, too. */
static void put_text(const struct state *state, const char *text)
{
    if (state->style.none != NULL && (text[0] == '\0' || strcmp(text, UNKNOWN) == 0))
        text = state->style.none;
    const char special[] = {'"', state->style.delimiter, '\0'};
    char *visible = utf8_visible(text, NULL);
    if (state->guarded)
        put_quoted(state->out, visible, is_formula(visible) ? "'" : "");
    else if (strpbrk(visible, special) != NULL)
        put_quoted(state->out, visible, "");
    else
        output_write(state->out, visible, strlen(visible));
    free(visible);
}

static void put_cell(const struct state *state, const struct table_cell *cell, bool is_text)
{
    struct output *out = state->out;
    char text[40];
    switch (cell->kind) {
    case CELL_TEXT:
        put_text(state, cell->text);
        break;
    case CELL_COUNT:
    case CELL_HEX:
        table_put_whole(out, cell);
        break;
    case CELL_REAL:
        if (isfinite(cell->real)) {
            format_real(text, sizeof text, cell->real);
            output_write(out, text, strlen(text));
        }
        break;
    case CELL_MISSING:
        if (is_text && state->style.none != NULL)
            put_text(state, "");
        break;
    }
}

/* Writes the delimiter before field NUMBER, unless that is the first. */
static void put_delimiter(const struct state *state, size_t number)
{
    output_write(state->out, &state->style.delimiter, number > 0);
}

static void end_row(const struct state *state)
{
    output_printf(state->out, "%s\n", state->style.crlf ? "\r" : "");
}

static void *begin_any(struct output *out, const struct table_head *head, bool guarded)
{
    struct state *state = mem_zalloc(1, sizeof *state);
    state->out = out;
    state->guarded = guarded;
    state->head = head;
    if (head->style != NULL)
        state->style = *head->style;
    if (state->style.delimiter == '\0')
        state->style.delimiter = ',';
    for (size_t i = 0; i < head->column_count; i++) {
        const struct table_column *column = &head->columns[i];
        char *title = column->unit[0] != '\0' ? mem_printf("%s [%s]", column->name, column->unit)
                                              : mem_strdup(column->name);
        put_delimiter(state, i);
        put_text(state, title);
        free(title);
    }
    end_row(state);
    return state;
}

static void *begin(struct output *out, const struct table_head *head)
{
    return begin_any(out, head, false);
}

static void *begin_guarded(struct output *out, const struct table_head *head)
{
    return begin_any(out, head, true);
}

static void row(void *opaque, const struct table_cell *cells, bool total)
{
    struct state *state = opaque;
    if (total && !state->style.total)
        return; /* without it, sums of columns are right */
    for (size_t i = 0; i < state->head->column_count; i++) {
        put_delimiter(state, i);
        put_cell(state, &cells[i], state->head->columns[i].is_text);
    }
    end_row(state);
}

const struct table_format table_csv = {.name = "csv",
                                       .suffix = ".csv",
                                       .help = "RFC 4180, units in the header row",
                                       .longest = TABLE_MAX_DATA,
                                       .begin = begin,
                                       .row = row,
                                       .end = free};

const struct table_format table_spreadsheet = {.name = "spreadsheet",
                                               .help = "CSV in which no text is a formula",
                                               .longest = TABLE_MAX_DATA,
                                               .begin = begin_guarded,
                                               .row = row,
                                               .end = free};
