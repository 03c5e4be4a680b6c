/* Tables for people: aligned columns, with numbers before names so that long names cut nothing off.
 *
 *   time [s]  share [%]  binary  function
 *     1.0012      50.06  burn    burn_50
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "formats/table/table.h"

struct shown {
    char *text;
    size_t width;
};

struct column {
    bool used; /* a column without values is not shown */
    size_t width;
    int decimals;
    double largest;
};

/* Wider texts stick out: one long name would fill every row with spaces. */
enum { WIDEST = 256 };

struct state {
    struct output *out;
    const struct table_head *head;
    struct column *columns;
    struct table_cell *cells; /* [rows * columns]; texts are owned */
    size_t rows, capacity;
    bool has_total;
};

static void *begin(struct output *out, const struct table_head *head)
{
    struct state *s = mem_zalloc(1, sizeof *s);
    s->out = out;
    s->head = head;
    s->columns = mem_zalloc(head->column_count, sizeof *s->columns);
    return s;
}

static void row(void *opaque, const struct table_cell *cells, bool total)
{
    struct state *s = opaque;
    size_t count = s->head->column_count;
    mem_reserve(&s->cells, &s->capacity, (s->rows + 1) * count, sizeof *s->cells);
    for (size_t i = 0; i < count; i++) {
        struct table_cell *kept = &s->cells[s->rows * count + i];
        *kept = cells[i];
        if (kept->kind == CELL_TEXT)
            kept->text = mem_strdup(kept->text);
        s->columns[i].used |= !cell_is_missing(kept) || s->head->columns[i].is_text;
        if (kept->kind == CELL_REAL && fabs(kept->real) > s->columns[i].largest)
            s->columns[i].largest = fabs(kept->real);
    }
    s->rows++;
    s->has_total |= total;
}

static struct shown show(const struct table_cell *cell, int decimals)
{
    struct shown shown;
    if (cell->kind == CELL_TEXT) {
        shown.text = utf8_visible(cell->text, &shown.width);
        return shown;
    }
    if (cell_is_missing(cell))
        shown.text = mem_strdup("-");
    else if (cell->kind == CELL_COUNT)
        shown.text = mem_printf("%" PRIu64, cell->count);
    else if (cell->kind == CELL_HEX)
        shown.text = mem_printf("0x%" PRIx64, cell->count);
    else
        shown.text = mem_printf("%.*f", decimals, cell->real);
    shown.width = strlen(shown.text);
    return shown;
}

static int decimals_of(const struct table_column *column, double largest)
{
    return strcmp(column->unit, "%") == 0 ? 2 : decimals_for(largest);
}

static char *title_of(const struct table_column *column)
{
    return column->unit[0] != '\0' ? mem_printf("%s [%s]", column->name, column->unit)
                                   : mem_strdup(column->name);
}

static void measure(struct state *s)
{
    for (size_t i = 0; i < s->head->column_count; i++) {
        struct column *column = &s->columns[i];
        char *title = title_of(&s->head->columns[i]);
        column->decimals = decimals_of(&s->head->columns[i], column->largest);
        column->width = strlen(title);
        free(title);
        for (size_t r = 0; r < s->rows; r++) {
            struct shown shown = show(&s->cells[r * s->head->column_count + i], column->decimals);
            column->width = shown.width > column->width ? shown.width : column->width;
            free(shown.text);
        }
        column->width = column->width < WIDEST ? column->width : WIDEST;
    }
}

static void put_padded(struct output *out, const char *text, size_t shown, size_t width, bool left,
                       bool last)
{
    size_t fill = width > shown ? width - shown : 0;
    if (!left)
        output_printf(out, "%*s", (int)fill, "");
    output_write(out, text, strlen(text));
    if (left && !last)
        output_printf(out, "%*s", (int)fill, "");
}

/* The columns in display order: numbers, then names. */
static size_t arrange(const struct state *s, size_t *order)
{
    size_t count = 0;
    for (int text = 0; text < 2; text++)
        for (size_t i = 0; i < s->head->column_count; i++)
            if (s->columns[i].used && s->head->columns[i].is_text == (text == 1))
                order[count++] = i;
    return count;
}

static const char *colour_of(const struct state *s, const struct table_cell *cell)
{
    if (!s->head->color || cell->tone == TONE_PLAIN)
        return "";
    return cell->tone == TONE_GOOD ? "\033[32m" : "\033[31m";
}

static void put_row(struct state *s, size_t number, const size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = order[i];
        struct shown shown =
            show(&s->cells[number * s->head->column_count + at], s->columns[at].decimals);
        const char *colour = colour_of(s, &s->cells[number * s->head->column_count + at]);
        output_printf(s->out, "%s%s", i > 0 ? "  " : "", colour);
        put_padded(s->out, shown.text, shown.width, s->columns[at].width,
                   s->head->columns[at].is_text, i + 1 == count);
        output_printf(s->out, "%s", colour[0] != '\0' ? "\033[0m" : "");
        free(shown.text);
    }
    output_write(s->out, "\n", 1);
}

static void put_titles(struct state *s, const size_t *order, size_t count)
{
    output_printf(s->out, "%s", s->head->color ? "\033[1m" : "");
    for (size_t i = 0; i < count; i++) {
        const struct table_column *column = &s->head->columns[order[i]];
        char *title = title_of(column);
        output_write(s->out, "  ", i > 0 ? 2 : 0);
        put_padded(s->out, title, strlen(title), s->columns[order[i]].width, column->is_text,
                   i + 1 == count);
        free(title);
    }
    output_printf(s->out, "%s\n", s->head->color ? "\033[0m" : "");
}

static void put_facts(struct state *s)
{
    size_t width = 0;
    for (size_t i = 0; i < s->head->fact_count; i++)
        if (!cell_is_missing(&s->head->facts[i].cell) && strlen(s->head->facts[i].title) > width)
            width = strlen(s->head->facts[i].title);
    for (size_t i = 0; i < s->head->fact_count; i++) {
        const struct table_fact *fact = &s->head->facts[i];
        if (cell_is_missing(&fact->cell))
            continue;
        struct table_column like = {fact->name, fact->unit, false};
        struct shown shown =
            show(&fact->cell,
                 decimals_of(&like, fact->cell.kind == CELL_REAL ? fabs(fact->cell.real) : 0));
        output_printf(s->out, "%-*s  %s%s%s\n", (int)width, fact->title, shown.text,
                      fact->unit[0] != '\0' ? " " : "", fact->unit);
        free(shown.text);
    }
    if (width > 0)
        output_write(s->out, "\n", 1);
}

static void put_rule(struct state *s, const size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        output_write(s->out, "  ", i > 0 ? 2 : 0);
        for (size_t w = 0; w < s->columns[order[i]].width && w < 40; w++)
            output_write(s->out, "-", 1);
    }
    output_write(s->out, "\n", 1);
}

static void end(void *opaque)
{
    struct state *s = opaque;
    size_t *order = mem_zalloc(s->head->column_count, sizeof *order);
    size_t count = arrange(s, order);
    measure(s);
    put_facts(s);
    put_titles(s, order, count);
    for (size_t r = 0; r < s->rows; r++) {
        if (s->has_total && r + 1 == s->rows)
            put_rule(s, order, count);
        put_row(s, r, order, count);
    }
    for (size_t i = 0; i < s->rows * s->head->column_count; i++)
        if (s->cells[i].kind == CELL_TEXT)
            free((char *)s->cells[i].text);
    free(order);
    free(s->cells);
    free(s->columns);
    free(s);
}

const struct table_format table_text = {.name = "text",
                                        .suffix = ".txt",
                                        .help = "aligned columns for people",
                                        .longest = TABLE_LONGEST_SHOWN,
                                        .begin = begin,
                                        .row = row,
                                        .end = end};
