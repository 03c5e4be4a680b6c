/* Tables for people: aligned columns, with numbers before names, so that long names do not displace
 * them. If lines are short, table_fit.c leaves out columns and shortens names.
 *
 *   time [s]  share [%]  binary  function
 *     1.0012      50.06  burn    burn_50
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elide.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "formats/table/table.h"
#include "formats/table/table_fit.h"

struct shown {
    char *text;
    size_t width;
};

/* Wider texts extend beyond their column, because one long name would fill every row with
 * spaces. */
enum { WIDEST = 256 };

struct state {
    struct output *out;
    const struct table_head *head;
    struct table_style style;
    struct fit_column *columns;
    struct table_cell *cells; /* [rows * columns]; texts are owned */
    size_t rows, capacity;
    bool has_total;
};

static void *begin(struct output *out, const struct table_head *head)
{
    struct state *s = mem_zalloc(1, sizeof *s);
    s->out = out;
    s->head = head;
    if (head->style != NULL)
        s->style = *head->style;
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

/* ---- columns ---- */

/* The column with the intervals that are shown after the values of column I; NULL: none. */
static const struct fit_column *interval_of(const struct state *s, size_t i)
{
    size_t at = s->head->columns[i].interval;
    return at > 0 && s->columns[at].used && s->columns[at].merged ? &s->columns[at] : NULL;
}

static int decimals_of(const struct state *s, size_t i)
{
    const struct fit_column *interval = interval_of(s, i);
    int most = decimals_for(s->columns[i].largest);
    if (strcmp(s->head->columns[i].unit, "%") == 0)
        return 2;
    if (interval == NULL)
        return most;
    /* two digits of the widest interval are worth reading, and as many decimals of values */
    enum { MAX_HIDDEN = 2 /* at most */ };
    int worth = interval->largest > 0 ? 1 - (int)floor(log10(interval->largest)) : most;
    return worth > most                ? most
           : worth < most - MAX_HIDDEN ? (most > MAX_HIDDEN ? most - MAX_HIDDEN : 0)
                                       : worth;
}

static char *title_of(const struct state *s, size_t i)
{
    const struct table_column *column = &s->head->columns[i];
    const char *interval = interval_of(s, i) != NULL ? " +-95%" : "";
    char *title = column->unit[0] != '\0'
                      ? mem_printf("%s%s [%s]", column->name, interval, column->unit)
                      : mem_printf("%s%s", column->name, interval);
    char *visible = utf8_visible(title, NULL);
    free(title);
    return visible;
}

/* Determines the columns before any is left out. */
static void choose(struct state *s)
{
    const struct table_head *head = s->head;
    for (size_t i = 0; i < head->column_count; i++)
        s->columns[i].shown = s->columns[i].used && (!head->columns[i].only_wide ||
                                                     (s->style.wide && s->style.columns == NULL));
    for (size_t i = 0; i < head->column_count && !s->style.wide; i++) {
        size_t interval = head->columns[i].interval;
        if (interval > 0 && s->columns[i].shown) {
            s->columns[interval].merged = true;
            s->columns[interval].shown = false;
        }
    }
}

/* The text of ROW in column I, with its interval. */
static struct shown show_at(const struct state *s, size_t row, size_t i)
{
    const struct table_cell *cells = &s->cells[row * s->head->column_count];
    const struct fit_column *interval = interval_of(s, i);
    struct shown value = show(&cells[i], s->columns[i].decimals);
    if (interval == NULL)
        return value;
    const struct table_cell *half = &cells[s->head->columns[i].interval];
    char *number = cell_is_missing(half) ? mem_strdup("")
                                         : mem_printf("+-%.*f", s->columns[i].decimals, half->real);
    struct shown both = {.text = mem_printf("%s %-*s", value.text, (int)interval->width, number)};
    both.width = strlen(both.text);
    free(value.text);
    free(number);
    return both;
}

/* The width of the intervals themselves, "+-0.08". */
static size_t interval_width(const struct state *s, size_t i)
{
    size_t at = s->head->columns[i].interval, widest = 0;
    for (size_t r = 0; r < s->rows; r++) {
        const struct table_cell *half = &s->cells[r * s->head->column_count + at];
        if (cell_is_missing(half))
            continue;
        int width = snprintf(NULL, 0, "+-%.*f", s->columns[i].decimals, half->real);
        widest = (size_t)width > widest ? (size_t)width : widest;
    }
    return widest;
}

static void measure(struct state *s)
{
    for (size_t i = 0; i < s->head->column_count; i++) {
        struct fit_column *column = &s->columns[i];
        if (!column->shown)
            continue;
        char *title = title_of(s, i);
        column->decimals = decimals_of(s, i);
        column->width = column->least = elide_width(title);
        free(title);
        if (interval_of(s, i) != NULL)
            s->columns[s->head->columns[i].interval].width = interval_width(s, i);
        for (size_t r = 0; r < s->rows; r++) {
            struct shown shown = show_at(s, r, i);
            column->width = shown.width > column->width ? shown.width : column->width;
            if (s->cells[r * s->head->column_count + i].kind != CELL_TEXT &&
                shown.width > column->least)
                column->least = shown.width;
            free(shown.text);
        }
        column->width = s->style.width > 0 || column->width < WIDEST ? column->width : WIDEST;
        column->rank = s->head->columns[i].rank;
        column->is_text = s->head->columns[i].is_text;
    }
}

/* Puts the columns in display order: as named by the user, or else numbers before names. */
static size_t arrange(const struct state *s, size_t *order)
{
    size_t count = 0;
    for (int text = 0; text < 2; text++)
        for (size_t i = 0; i < s->head->column_count; i++)
            if (s->columns[i].shown &&
                (s->style.columns != NULL ? text == 0 : s->head->columns[i].is_text == (text == 1)))
                order[count++] = i;
    return count;
}

/* ---- lines ---- */

/* Shortens SHOWN to at most WIDTH columns. */
static void shorten(struct shown *shown, size_t width)
{
    if (shown->width <= width)
        return;
    char *shorter = elide(shown->text, width);
    free(shown->text);
    *shown = (struct shown){shorter, elide_width(shorter)};
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
        const struct table_cell *cell = &s->cells[number * s->head->column_count + at];
        struct shown shown = show_at(s, number, at);
        const char *colour = colour_of(s, cell);
        if (cell->kind == CELL_TEXT && s->style.width > 0)
            shorten(&shown, s->columns[at].width);
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
        char *title = title_of(s, order[i]);
        output_write(s->out, "  ", i > 0 ? 2 : 0);
        put_padded(s->out, title, elide_width(title), s->columns[order[i]].width,
                   s->head->columns[order[i]].is_text, i + 1 == count);
        free(title);
    }
    output_printf(s->out, "%s\n", s->head->color ? "\033[0m" : "");
}

/* The number of bytes of TEXT before the last blank in its first WIDTH columns; 0 if they fill less
 * than half of the columns, or if all of TEXT fits. */
static size_t break_at(const char *text, size_t width)
{
    size_t found = 0, used = 0;
    for (const char *at = text; used <= width;) {
        if (*at == '\0')
            return 0;
        found = *at == ' ' && used >= width / 2 ? (size_t)(at - text) : found;
        size_t length = utf8_length(at);
        used += utf8_columns(at, length);
        at += length > 0 ? length : 1;
    }
    return found;
}

/* Writes TEXT after INDENT columns. If it is too long, it continues in a second line, which loses
 * its middle if necessary. */
static void put_text_fact(struct state *s, const char *text, size_t indent)
{
    size_t width = s->style.width > indent ? s->style.width - indent : SIZE_MAX;
    size_t first = break_at(text, width);
    if (first > 0)
        output_printf(s->out, "%.*s\n%*s", (int)first, text, (int)indent, "");
    char *rest = elide_middle(text + first + (first > 0), width);
    output_printf(s->out, "%s\n", rest);
    free(rest);
}

/* Writes the facts, with texts fitted to the line. */
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
        double size = fact->cell.kind == CELL_REAL ? fabs(fact->cell.real) : 0;
        struct shown shown =
            show(&fact->cell, strcmp(fact->unit, "%") == 0 ? 2 : decimals_for(size));
        char *unit = utf8_visible(fact->unit, NULL);
        output_printf(s->out, "%-*s  ", (int)width, fact->title);
        if (fact->cell.kind == CELL_TEXT)
            put_text_fact(s, shown.text, width + 2);
        else
            output_printf(s->out, "%s%s%s\n", shown.text, unit[0] != '\0' ? " " : "", unit);
        free(shown.text);
        free(unit);
    }
    if (width > 0)
        output_write(s->out, "\n", 1);
}

static void put_rule(struct state *s, const size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        output_write(s->out, "  ", i > 0 ? 2 : 0);
        size_t most = s->style.width > 0 ? WIDEST : 40;
        for (size_t w = 0; w < s->columns[order[i]].width && w < most; w++)
            output_write(s->out, "-", 1);
    }
    output_write(s->out, "\n", 1);
}

/* "(not shown: entries, samples; --wide shows all)": the columns of BEFORE that are not shown. */
static void put_left_out(struct state *s, const size_t *before, size_t count)
{
    char *list = mem_strdup("");
    size_t more = 0;
    for (size_t i = 0; i < count; i++) {
        const struct table_column *column = &s->head->columns[before[i]];
        if (s->columns[before[i]].shown)
            continue;
        enum { FRAME = sizeof "(not shown: , 99 more; --wide shows all)" - 1 };
        if (more > 0 || strlen(list) + strlen(column->name) + FRAME > s->style.width) {
            more++;
            continue;
        }
        char *longer = mem_printf("%s%s%s", list, list[0] != '\0' ? ", " : "", column->name);
        free(list);
        list = longer;
    }
    if (more > 0)
        output_printf(s->out, "(not shown: %s%s%zu more; --wide shows all)\n", list,
                      list[0] != '\0' ? ", " : "", more);
    else if (list[0] != '\0')
        output_printf(s->out, "(not shown: %s; --wide shows all)\n", list);
    free(list);
}

static void free_state(struct state *s)
{
    for (size_t i = 0; i < s->rows * s->head->column_count; i++)
        if (s->cells[i].kind == CELL_TEXT)
            free((char *)s->cells[i].text);
    free(s->cells);
    free(s->columns);
    free(s);
}

static void end(void *opaque)
{
    struct state *s = opaque;
    size_t *order = mem_zalloc(s->head->column_count, sizeof *order);
    size_t *before = mem_zalloc(s->head->column_count, sizeof *before);
    choose(s);
    measure(s);
    size_t count = arrange(s, order), all = count;
    memcpy(before, order, count * sizeof *order);
    if (s->style.width > 0)
        count = table_fit(s->columns, order, count, s->style.width);
    put_facts(s);
    put_titles(s, order, count);
    for (size_t r = 0; r < s->rows; r++) {
        if (s->has_total && r + 1 == s->rows)
            put_rule(s, order, count);
        put_row(s, r, order, count);
    }
    put_left_out(s, before, all);
    free(order);
    free(before);
    free_state(s);
}

const struct table_format table_text = {.name = "text",
                                        .suffix = ".txt",
                                        .help = "aligned columns for people",
                                        .longest = TABLE_MAX_SHOWN,
                                        .begin = begin,
                                        .row = row,
                                        .end = end};
