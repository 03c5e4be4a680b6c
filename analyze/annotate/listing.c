/* A listing of annotated lines: text with columns and colours.
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

#include "analyze/annotate/annotate_text.h"
#include "analyze/annotate/annotate_values.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

/* Escape sequences, "" without colour. */
struct paint {
    const char *hot, *warm, *faint, *strong, *end;
};

struct listing {
    struct annotation *annotation;
    struct output *out;
    struct annotate_table *table; /* NULL: text */
    struct paint paint;
    bool used[ANNOTATE_VALUES];
    char *title[ANNOTATE_VALUES];
    int width[ANNOTATE_VALUES], decimals[ANNOTATE_VALUES];
    int interval_width[ANNOTATE_VALUES]; /* " +-0.08", part of the width */
    size_t functions, lines;             /* shown; lines: of the last function */
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
    return l->annotation->options->intervals && value != ANNOTATE_SAMPLES;
}

/* Caller frees. */
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

/* The width of " +-0.08" for a line with half of everything: there is no wider interval. */
static int widest_interval(const struct listing *l, int value)
{
    struct annotate_sums half = l->annotation->total;
    half.time /= 2;
    half.energy /= 2;
    half.samples /= 2;
    double widest = annotation_interval(l->annotation, &half, value);
    return isnan(widest) ? 0 : snprintf(NULL, 0, " +-%.*f", l->decimals[value], widest);
}

/* Makes columns as wide as the title or the sum of FUNCTION, which no line exceeds. */
static void measure(struct listing *l, const struct annotate_function *f)
{
    const struct quantity *q = &l->annotation->quantity;
    const struct annotate_options *options = l->annotation->options;
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
    l->used[ANNOTATE_TIME] = l->used[ANNOTATE_SHARE] = true;
    l->used[ANNOTATE_ENERGY] = q->name != NULL;
    l->used[ANNOTATE_SAMPLES] = options->assembly || options->metric == HEAT_SAMPLES;
}

static void put_visible(struct listing *l, const char *text)
{
    char *visible = utf8_visible(text, NULL);
    output_write(l->out, visible, strlen(visible));
    free(visible);
}

/* Takes TEXT. */
static void put_owned(struct listing *l, char *text)
{
    put_visible(l, text);
    free(text);
}

/* The name of the function and its totals. */
static void put_heading(struct listing *l, const struct annotate_function *f)
{
    static const char *const metrics[] = {"total CPU time", "total energy", "all samples"};
    const struct annotation *a = l->annotation;
    output_printf(l->out, "%s%s", l->functions++ > 0 ? "\n" : "", l->paint.strong);
    put_visible(l, annotation_text(a, f->rows->function));
    output_printf(l->out, "%s", l->paint.end);
    if (f->rows->binary != 0) {
        output_printf(l->out, " in ");
        put_visible(l, annotation_text(a, f->rows->binary));
    }
    output_printf(l->out, ": %.*f s", l->decimals[ANNOTATE_TIME],
                  annotation_value(l->annotation, &f->sums, ANNOTATE_TIME));
    if (l->used[ANNOTATE_ENERGY])
        output_printf(l->out, ", %.*f %s", l->decimals[ANNOTATE_ENERGY],
                      annotation_value(l->annotation, &f->sums, ANNOTATE_ENERGY), a->quantity.unit);
    output_printf(l->out, ", %.*f samples; %.2f %% of %s\n", l->decimals[ANNOTATE_SAMPLES],
                  annotation_value(l->annotation, &f->sums, ANNOTATE_SAMPLES),
                  annotation_value(l->annotation, &f->sums, ANNOTATE_SHARE),
                  metrics[a->options->metric]);
}

/* With its interval, if requested: "5.12 +-0.08". */
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

/* Blank without samples. */
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
    put_visible(l, title);
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

/* The source line of an instruction, and the inlined function it belongs to. */
static void put_origin(struct listing *l, const struct listed *line)
{
    bool inlined = line->inner != NULL && line->inner[0] != '\0';
    bool placed = l->annotation->options->assembly && line->file != NULL && line->file[0] != '\0';
    if (!inlined && !placed)
        return;
    output_printf(l->out, "  %s", l->paint.faint);
    if (placed) {
        const char *slash = strrchr(line->file, '/');
        put_visible(l, slash != NULL ? slash + 1 : line->file);
        output_printf(l->out, ":%" PRIu64 "%s", line->line, inlined ? " " : "");
    }
    if (inlined) {
        output_printf(l->out, "[");
        put_owned(l, text_short_name(line->inner));
        output_printf(l->out, "]");
    }
    output_printf(l->out, "%s", l->paint.end);
}

static void put_place(struct listing *l, const struct listed *line)
{
    if (l->annotation->options->assembly)
        output_printf(l->out, "%10" PRIx64 " |", line->address);
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
    output_printf(l->out, "%s", line->text != NULL && line->text[0] != '\0' ? " " : "");
    if (line->text != NULL)
        put_owned(l, text_expand_tabs(line->text));
    output_printf(l->out, "%s", paint[0] != '\0' ? l->paint.end : "");
    put_origin(l, line);
    output_printf(l->out, "\n");
}

struct listing *listing_open(struct annotation *annotation, const struct table_format *format,
                             struct output *out)
{
    struct listing *l = mem_zalloc(1, sizeof *l);
    l->annotation = annotation;
    l->out = out;
    choose_paint(l);
    if (format != NULL)
        l->table = annotate_table_open(annotation, format, out);
    return l;
}

void listing_close(struct listing *l)
{
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

void listing_end(struct listing *l)
{
    if (l->table == NULL && l->lines == 0)
        output_printf(l->out, "no line has at least %g %% of it (--threshold)\n",
                      l->annotation->options->threshold);
}
