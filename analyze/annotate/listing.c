/* A listing of annotated lines: text with columns and colors.
 *
 *   time [s]  share [%]   line  source
 *    0.64435     100.00     57 |         number = number * 0.75 + 1.0 / (number + 1.0);
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/listing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/annotate/annotate_select.h"
#include "analyze/annotate/annotate_text.h"
#include "analyze/annotate/annotate_values.h"
#include "analyze/attribute/words.h"
#include "base/elide.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

/* If the length of lines is limited, columns are left out until the text has this much room
 * (MIN_WITH_SAMPLES to keep samples, MIN_TEXT to keep the others). MIN_ORIGIN: the shortest origin
 * of an instruction that is worth showing. */
enum { MIN_WITH_SAMPLES = 32, MIN_TEXT = 16, MIN_ORIGIN = 12 };

/* Escape sequences; "" without color. */
struct paint {
    const char *hot, *warm, *faint, *strong, *end;
};

struct listing {
    struct annotation *annotation;
    struct output *out;
    struct annotate_table *table; /* NULL if the format is text */
    struct paint paint;
    bool used[ANNOTATE_VALUES];
    char *title[ANNOTATE_VALUES];
    int width[ANNOTATE_VALUES], decimals[ANNOTATE_VALUES];
    int interval_width[ANNOTATE_VALUES];        /* width of " +-0.08", which is part of the width */
    size_t line_width;                          /* [characters]; 0: no limit */
    bool hides[ANNOTATE_VALUES], hides_origins; /* left out for lack of room */
    size_t functions, lines;                    /* shown so far; lines: in the last function */
    bool in_full;                               /* the last function had lines, not only sums */
};

struct annotation *listing_annotation(struct listing *l)
{
    return l->annotation;
}

static void choose_paint(struct listing *l)
{
    bool color = l->annotation->options->color;
    l->paint = color ? (struct paint){"\033[1;31m", "\033[33m", "\033[2m", "\033[1m", "\033[0m"}
                     : (struct paint){"", "", "", "", ""};
}

static bool has_interval(const struct listing *l, int value)
{
    return l->annotation->options->intervals && value != ANNOTATE_SAMPLES &&
           value != ANNOTATE_ENERGY;
}

/* The title of a column. The caller frees it. */
static char *title_of(const struct listing *l, int value)
{
    const struct quantity *q = &l->annotation->quantity;
    const char *interval = has_interval(l, value) ? " +-95%" : "";
    switch (value) {
    case ANNOTATE_TIME:
        return mem_printf("time%s [s]", interval);
    case ANNOTATE_SHARE:
        return mem_printf("share%s [%%]", interval);
    case ANNOTATE_ENERGY:
        return mem_printf("%s%s [%s]", q->name != NULL ? q->name : "", interval, q->unit);
    default:
        return mem_strdup("samples");
    }
}

/* The width of " +-0.08" for a line with half of the total, which has the widest interval. */
static int widest_interval(const struct listing *l, int value)
{
    struct annotate_sums half = l->annotation->total;
    half.time /= 2;
    half.energy /= 2;
    half.samples /= 2;
    double widest = annotation_interval(l->annotation, &half, value);
    return isnan(widest) ? 0 : snprintf(NULL, 0, " +-%.*f", l->decimals[value], widest);
}

/* The width of the values and of the line number, up to the text. */
static size_t text_column(const struct listing *l)
{
    size_t width = l->annotation->options->assembly ? 10 : 6;
    for (int value = 0; value < ANNOTATE_VALUES; value++)
        if (l->used[value])
            width += (size_t)l->width[value] + 2;
    return width + strlen(" | ");
}

/* Leaves out columns until there is room for texts, but never the metric and its share. */
static void choose_values(struct listing *l)
{
    static const int order[] = {ANNOTATE_SAMPLES, ANNOTATE_ENERGY, ANNOTATE_TIME};
    static const int of_metric[] = {ANNOTATE_TIME, ANNOTATE_ENERGY, ANNOTATE_SAMPLES};
    const struct annotate_options *options = l->annotation->options;
    l->used[ANNOTATE_TIME] = l->used[ANNOTATE_SHARE] = true;
    l->used[ANNOTATE_ENERGY] = l->annotation->quantity.name != NULL;
    l->used[ANNOTATE_SAMPLES] = options->assembly || options->metric == HEAT_SAMPLES;
    for (size_t i = 0; i < sizeof order / sizeof order[0] && l->line_width > 0; i++) {
        int least = order[i] == ANNOTATE_SAMPLES ? MIN_WITH_SAMPLES : MIN_TEXT;
        if (!l->used[order[i]] || order[i] == of_metric[options->metric] ||
            l->line_width >= text_column(l) + (size_t)least)
            continue;
        l->hides[order[i]] = true;
        l->used[order[i]] = false;
    }
}

/* Makes columns as wide as the title or the sum of FUNCTION, which no line exceeds. */
static void measure(struct listing *l, const struct annotate_function *f)
{
    for (int value = 0; value < ANNOTATE_VALUES; value++) {
        double number = annotation_value(l->annotation, &f->sums, value);
        free(l->title[value]);
        l->title[value] = title_of(l, value);
        l->decimals[value] = value == ANNOTATE_SHARE ? 2
                             : value == ANNOTATE_SAMPLES && number == floor(number)
                                 ? 0
                                 : decimals_for(fabs(number));
        int digits = snprintf(NULL, 0, "%.*f", l->decimals[value], number);
        if (has_interval(l, value)) {
            l->interval_width[value] = widest_interval(l, value);
            digits += l->interval_width[value];
        }
        l->width[value] = (int)strlen(l->title[value]);
        l->width[value] = digits > l->width[value] ? digits : l->width[value];
    }
    choose_values(l);
}

/* Writes VISIBLE, in at most WIDTH characters (0: no limit). Returns how many were written. */
static size_t put_limited(struct listing *l, const char *visible, size_t width)
{
    char *shorter = width > 0 ? elide_middle(visible, width) : mem_strdup(visible);
    size_t shown = elide_width(shorter);
    output_write(l->out, shorter, strlen(shorter));
    free(shorter);
    return shown;
}

/* "0.44 s, 1.2 J, 220 samples; 48.70 % of total CPU time". The caller frees it. */
static char *totals_of(const struct listing *l, const struct annotate_function *f)
{
    const struct annotation *a = l->annotation;
    const char *const metrics[] = {
        attribution_is_wall(a->meta.attribution) ? "total time of threads" : "total CPU time",
        "total energy", "all samples"};
    char *energy =
        a->quantity.name != NULL
            ? mem_printf(", %.*f %s", l->decimals[ANNOTATE_ENERGY],
                         annotation_value(a, &f->sums, ANNOTATE_ENERGY), a->quantity.unit)
            : mem_strdup("");
    char *totals =
        mem_printf("%.*f s%s, %.*f samples; %.2f %% of %s", l->decimals[ANNOTATE_TIME],
                   annotation_value(a, &f->sums, ANNOTATE_TIME), energy,
                   l->decimals[ANNOTATE_SAMPLES], annotation_value(a, &f->sums, ANNOTATE_SAMPLES),
                   annotation_value(a, &f->sums, ANNOTATE_SHARE), metrics[a->options->metric]);
    free(energy);
    return totals;
}

/* Returns whether an empty line is needed; sums without lines are not separated. */
static bool needs_gap(struct listing *l, const struct annotate_function *f)
{
    bool gap = l->functions++ > 0 && (l->in_full || f->level > LEVEL_FUNCTION);
    l->in_full = f->level > LEVEL_FUNCTION;
    return gap;
}

/* Writes the name of the function and its totals, in separate lines if they do not fit in one. */
static void put_heading(struct listing *l, const struct annotate_function *f)
{
    static const char in[] = " in ";
    const struct annotation *a = l->annotation;
    bool whole = f->level == LEVEL_BINARY, has_binary = !whole && f->rows->binary != 0;
    char *name =
        utf8_visible(annotation_text(a, whole ? f->rows->binary : f->rows->function), NULL);
    char *binary = utf8_visible(annotation_text(a, f->rows->binary), NULL);
    char *totals = totals_of(l, f);
    size_t all = elide_width(name) + (has_binary ? strlen(in) + elide_width(binary) : 0);
    bool splits = l->line_width > 0 && all + strlen(": ") + strlen(totals) > l->line_width;
    if (splits && all >= l->line_width) { /* including the colon */
        size_t room = l->line_width - 1, most = room / 3;
        char *shorter = elide_middle(binary, most);
        free(binary);
        binary = shorter;
        shorter = elide(name, room - (has_binary ? strlen(in) + elide_width(binary) : 0));
        free(name);
        name = shorter;
    }
    output_printf(l->out, "%s%s%s%s", needs_gap(l, f) ? "\n" : "", l->paint.strong, name,
                  l->paint.end);
    if (has_binary)
        output_printf(l->out, "%s%s", in, binary);
    output_printf(l->out, ":%s%s\n", splits ? "\n  " : " ", totals);
    free(name);
    free(binary);
    free(totals);
}

/* Writes a value, with its interval if requested: "5.12 +-0.08". */
static void put_value(struct listing *l, const struct annotate_sums *sums, int value)
{
    double half = annotation_interval(l->annotation, sums, value);
    char interval[64] = "";
    if (has_interval(l, value) && !isnan(half))
        snprintf(interval, sizeof interval, " +-%.*f", l->decimals[value], half);
    int room = has_interval(l, value) ? l->interval_width[value] : 0;
    output_printf(l->out, "%*.*f%-*s  ", l->width[value] - room, l->decimals[value],
                  annotation_value(l->annotation, sums, value), room, interval);
}

/* Writes the values; blanks if there are no samples. */
static void put_values(struct listing *l, const struct annotate_sums *sums)
{
    for (int value = 0; value < ANNOTATE_VALUES; value++) {
        if (!l->used[value])
            continue;
        if (sums == NULL)
            output_printf(l->out, "%*s  ", l->width[value], "");
        else
            put_value(l, sums, value);
    }
}

void listing_section(struct listing *l, const char *title)
{
    if (l->table != NULL)
        return;
    output_printf(l->out, "\n  %s", l->paint.strong);
    char *visible = utf8_visible(title, NULL);
    put_limited(l, visible, l->line_width > 2 ? l->line_width - 2 : 0);
    free(visible);
    output_printf(l->out, "%s\n", l->paint.end);
    for (int value = 0; value < ANNOTATE_VALUES; value++)
        if (l->used[value])
            output_printf(l->out, "%*s  ", l->width[value], l->title[value]);
    output_printf(l->out,
                  l->annotation->options->assembly ? "%10s   instruction\n" : "%6s   source\n",
                  l->annotation->options->assembly ? "address" : "line");
}

void listing_gap(struct listing *l)
{
    if (l->table != NULL)
        return;
    put_values(l, NULL);
    output_printf(l->out, "%*s\n", l->annotation->options->assembly ? 10 : 6, "...");
}

static const char *paint_of(const struct listing *l, const struct annotate_function *f,
                            const struct listed *line)
{
    if (line->sums == NULL)
        return "";
    if (annotation_is_hot(l->annotation, line->sums, f))
        return l->paint.hot;
    double share = annotation_share(l->annotation, line->sums, &f->sums);
    return share > 0 && share * 10 >= l->annotation->options->threshold ? l->paint.warm : "";
}

/* The source line of an instruction, and the inlined function that it belongs to: "burn.c:51
 * [length]". NULL if both are unknown. The caller frees it. */
static char *origin_of(const struct listing *l, const struct listed *line)
{
    bool inlined = line->inner != NULL && line->inner[0] != '\0';
    bool placed = l->annotation->options->assembly && line->file != NULL && line->file[0] != '\0' &&
                  line->line > 0;
    if (!inlined && !placed)
        return NULL;
    char *inner = inlined ? text_short_name(line->inner) : NULL;
    const char *slash = placed ? strrchr(line->file, '/') : NULL;
    char *file = !placed         ? mem_strdup("")
                 : slash != NULL ? mem_printf("%s:%" PRIu64, slash + 1, line->line)
                                 : mem_printf("%s:%" PRIu64, line->file, line->line);
    char *both =
        inlined ? mem_printf("%s%s[%s]", file, placed ? " " : "", inner) : mem_strdup(file);
    char *visible = utf8_visible(both, NULL);
    free(inner);
    free(file);
    free(both);
    return visible;
}

/* Writes the origin after a line with USED characters. */
static void put_origin(struct listing *l, const struct listed *line, size_t used)
{
    char *origin = origin_of(l, line);
    if (origin == NULL)
        return;
    used += 2;
    size_t room = l->line_width > used ? l->line_width - used : 0, all = elide_width(origin);
    if (l->line_width > 0 && room < all && room < MIN_ORIGIN) {
        l->hides_origins = true;
    } else {
        output_printf(l->out, "  %s", l->paint.faint);
        put_limited(l, origin, room);
        output_printf(l->out, "%s", l->paint.end);
    }
    free(origin);
}

/* Writes the text of LINE; if it is too long, "..." replaces its end. Returns its width. */
static size_t put_text(struct listing *l, const struct listed *line)
{
    static const char dots[] = "...";
    size_t before = text_column(l);
    if (line->text == NULL || line->text[0] == '\0')
        return 0;
    char *wide = text_expand_tabs(line->text), *visible = utf8_visible(wide, NULL);
    size_t shown = elide_width(visible);
    if (l->line_width > 0 && before + shown > l->line_width) {
        shown = l->line_width > before + strlen(dots) ? l->line_width - before : strlen(dots);
        visible[elide_end(visible, shown - strlen(dots))] = '\0';
        shown = elide_width(visible) + strlen(dots);
        output_printf(l->out, " %s%s", visible, dots);
    } else {
        output_printf(l->out, " %s", visible);
    }
    free(wide);
    free(visible);
    return shown;
}

static void put_place(struct listing *l, const struct listed *line)
{
    bool begins = line->block != NULL && *line->block == line->address;
    if (l->annotation->options->assembly)
        output_printf(l->out, "%10" PRIx64 "%c|", line->address, begins ? ':' : ' ');
    else if (line->line > 0)
        output_printf(l->out, "%6" PRIu64 " |", line->line);
    else
        output_printf(l->out, "%6s |", "-");
}

void listing_line(struct listing *l, const struct annotate_function *f, const struct listed *line)
{
    const char *paint = paint_of(l, f, line);
    l->lines++;
    if (l->table != NULL) {
        annotate_table_row(l->table, f, line);
        return;
    }
    output_printf(l->out, "%s", paint);
    put_values(l, line->sums);
    put_place(l, line);
    size_t shown = put_text(l, line);
    output_printf(l->out, "%s", paint[0] != '\0' ? l->paint.end : "");
    put_origin(l, line, text_column(l) + shown);
    output_printf(l->out, "\n");
}

void listing_total(struct listing *l, const struct annotate_function *f)
{
    l->lines++;
    if (l->table != NULL)
        annotate_table_row(l->table, f, &(struct listed){.sums = &f->sums});
}

struct listing *listing_open(struct annotation *annotation, const struct table_format *format,
                             struct output *out)
{
    struct listing *l = mem_zalloc(1, sizeof *l);
    l->annotation = annotation;
    l->out = out;
    l->line_width = annotation->options->style != NULL ? annotation->options->style->width : 0;
    choose_paint(l);
    if (format != NULL)
        l->table = annotate_table_open(annotation, format, out);
    return l;
}

/* Notes what was left out. */
static void put_note(struct listing *l)
{
    const char *const what[] = {l->hides[ANNOTATE_TIME] ? "time" : NULL,
                                l->hides[ANNOTATE_ENERGY] ? l->annotation->quantity.name : NULL,
                                l->hides[ANNOTATE_SAMPLES] ? "samples" : NULL,
                                !l->hides_origins                  ? NULL
                                : l->annotation->options->assembly ? "source of some instructions"
                                                                   : "some inlined functions"};
    const char *before = "(not shown: ";
    for (size_t i = 0; i < sizeof what / sizeof what[0]; i++)
        if (what[i] != NULL) {
            output_printf(l->out, "%s%s", before, what[i]);
            before = ", ";
        }
    if (before[0] == ',')
        output_printf(l->out, "; --wide shows all)\n");
}

void listing_close(struct listing *l)
{
    put_note(l);
    annotate_table_close(l->table);
    for (int value = 0; value < ANNOTATE_VALUES; value++)
        free(l->title[value]);
    free(l);
}

void listing_begin(struct listing *l, const struct annotate_function *f)
{
    measure(l, f);
    l->lines = 0;
    if (l->table == NULL)
        put_heading(l, f);
}

static void put_nothing(struct listing *l)
{
    const struct annotation *a = l->annotation;
    if (a->options->has_context)
        output_printf(l->out, "no line has at least %g %% of it (--threshold)\n",
                      a->options->threshold);
    else
        output_printf(l->out, "no %s reaches --min\n",
                      !a->options->assembly                        ? "line"
                      : annotate_has_minimum(a, LEVEL_INSTRUCTION) ? "instruction"
                                                                   : "block");
}

void listing_end(struct listing *l)
{
    if (l->table == NULL && l->lines == 0)
        put_nothing(l);
}
