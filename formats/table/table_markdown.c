/* Tables as GitHub Markdown, for pull requests. Names are escaped so that none acts as a tag or a column separator.
 *
 *   | time [s] | function |
 *   |---:|:---|
 *   | 1.0012 | burn\_50 |
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "formats/table/table.h"

struct state {
    struct output *out;
    const struct table_head *head;
};

/* Whether TEXT contains anything that GitHub turns into a link or a mention. Only formatting as
 * code prevents that; escapes do not. */
static bool is_active(const char *text)
{
    static const char *const signs[] = {"@", "://", "www.", "mailto:", "xmpp:", "gh-"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strcasestr(text, signs[i]) != NULL)
            return true;
    for (const char *at = text; (at = strchr(at, '#')) != NULL; at++)
        if (at[1] >= '0' && at[1] <= '9')
            return true;
    return false;
}

/* Writes TEXT as code, between more backticks than TEXT contains in a row. */
static void put_code(struct output *out, const char *text)
{
    size_t longest = 0;
    for (const char *at = text; (at = strchr(at, '`')) != NULL;) {
        size_t run = strspn(at, "`");
        longest = run > longest ? run : longest;
        at += run;
    }
    for (size_t i = 0; i <= longest; i++)
        output_write(out, "`", 1);
    output_write(out, " ", longest > 0); /* not shown if both ends have one */
    for (; *text != '\0'; text++) {
        output_write(out, "\\", *text == '|');
        output_write(out, text, 1);
    }
    output_write(out, " ", longest > 0);
    for (size_t i = 0; i <= longest; i++)
        output_write(out, "`", 1);
}

static void put_text(struct output *out, const char *text)
{
    char *visible = utf8_visible(text, NULL);
    if (is_active(visible)) {
        put_code(out, visible);
        free(visible);
        return;
    }
    for (const char *at = visible; *at != '\0'; at++) {
        if (strchr("\\`*_{}[]<>#|~&", *at) != NULL)
            output_write(out, "\\", 1);
        output_write(out, at, 1);
    }
    free(visible);
}

static void put_cell(struct output *out, const struct table_cell *cell, const char *unit)
{
    switch (cell->kind) {
    case CELL_TEXT:
        put_text(out, cell->text);
        break;
    case CELL_COUNT:
    case CELL_HEX:
        table_put_whole(out, cell);
        break;
    case CELL_REAL:
        if (isfinite(cell->real))
            output_printf(out, strcmp(unit, "%") == 0 ? "%.2f" : "%.6g", cell->real);
        break;
    case CELL_MISSING:
        break;
    }
}

static void put_facts(struct output *out, const struct table_head *head)
{
    bool any = false;
    for (size_t i = 0; i < head->fact_count; i++) {
        const struct table_fact *fact = &head->facts[i];
        if (cell_is_missing(&fact->cell))
            continue;
        output_printf(out, "- ");
        put_text(out, fact->title);
        output_printf(out, ": ");
        put_cell(out, &fact->cell, fact->unit);
        output_printf(out, "%s", fact->unit[0] != '\0' ? " " : "");
        put_text(out, fact->unit);
        output_printf(out, "\n");
        any = true;
    }
    output_printf(out, "%s", any ? "\n" : "");
}

static void *begin(struct output *out, const struct table_head *head)
{
    struct state *state = mem_zalloc(1, sizeof *state);
    state->out = out;
    state->head = head;
    put_facts(out, head);
    for (size_t i = 0; i < head->column_count; i++) {
        output_printf(out, "| ");
        put_text(out, head->columns[i].name);
        output_printf(out, head->columns[i].unit[0] != '\0' ? " (" : " ");
        put_text(out, head->columns[i].unit);
        output_printf(out, head->columns[i].unit[0] != '\0' ? ") " : "");
    }
    output_printf(out, "|\n");
    for (size_t i = 0; i < head->column_count; i++)
        output_printf(out, head->columns[i].is_text ? "|:---" : "|---:");
    output_printf(out, "|\n");
    return state;
}

static void row(void *opaque, const struct table_cell *cells, bool total)
{
    struct state *state = opaque;
    (void)total; /* its key identifies it */
    for (size_t i = 0; i < state->head->column_count; i++) {
        output_printf(state->out, "| ");
        put_cell(state->out, &cells[i], state->head->columns[i].unit);
        output_printf(state->out, " ");
    }
    output_printf(state->out, "|\n");
}

const struct table_format table_markdown = {.name = "markdown",
                                            .suffix = ".md",
                                            .help = "a table for pull requests",
                                            .longest = TABLE_MAX_SHOWN,
                                            .begin = begin,
                                            .row = row,
                                            .end = free};
