/* cumulative: the share of the N largest functions in the total of all code.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "plot/frame.h"

static const double END = 1.02, TOP = 104; /* of the axes: rows, % */

/* Removes rows that are not code: _idle and _others would come first, and be counted as functions.
 * Shares become those of all code. Returns the total of code. */
static double keep_code(struct ranking *r)
{
    double code = 0;
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->rows[i].other) {
            free(r->rows[i].name);
            continue;
        }
        code += isnan(r->rows[i].value) ? 0 : r->rows[i].value;
        r->rows[kept++] = r->rows[i];
    }
    r->count = kept;
    for (size_t i = 0; i < kept; i++)
        r->rows[i].share = r->rows[i].value / code;
    return code;
}

/* Returns "file · 5 s", and the part that is not in the picture. Caller frees. */
static char *subtitle_of(const struct plot *plot, const struct aggregate *a,
                         const struct ranking *r, double code)
{
    double whole = row_value(&r->total, r->metric);
    char *text = frame_subtitle_of(plot, a);
    if (whole - code > 1e-9 * whole)
        mem_append(&text, " \xc2\xb7 without the %.1f %% that no code used",
                   100 * (whole - code) / whole);
    return text;
}

static double share_of(const struct ranking *r, size_t i)
{
    return isnan(r->rows[i].share) ? 0 : r->rows[i].share;
}

static void put_data(struct plot *plot, const struct ranking *r)
{
    struct script *s = &plot->script;
    double sum = 0;
    script_add(s, "# rank, cumulative share [%%], %s [%s], name\n", r->metric_name, r->unit);
    script_data(s, "$rows");
    script_add(s, "0\t0\t0\n");
    for (size_t i = 0; i < r->count; i++) {
        sum += share_of(r, i);
        script_number(s, (double)(i + 1));
        script_number(s, 100 * sum);
        script_number(s, r->rows[i].value);
        script_row_end_name(s, r->rows[i].name);
    }
    script_data_end(s);
}

/* Returns the rank at which PART of the total is reached. */
static size_t rank_of(const struct ranking *r, double part)
{
    double sum = 0;
    for (size_t i = 0; i < r->count; i++)
        if ((sum += share_of(r, i)) >= part * (1 - 1e-12))
            return i + 1;
    return r->count;
}

static double share_up_to(const struct ranking *r, double rank)
{
    double sum = 0;
    for (size_t i = 0; i < r->count && (double)i < rank; i++)
        sum += share_of(r, i);
    return 100 * sum;
}

/* Places a text below the curve at LEVEL and at the beginning of the text; at the right end, beside
 * a high step. Returns the vertical centre of the text [%]; sets *LEFT to its beginning [rows]. */
static double text_place(const struct plot *plot, const struct frame *f, const struct ranking *r,
                         double rank, double level, const char *text, double *left)
{
    bool cells = plot_is_text(plot);
    double size = cells ? 1 : 0.9 * plot->script.em, columns = f->right - f->left;
    double end = END * (double)r->count, column = end / columns;
    double width = (text_width(text, cells) * (cells ? 1 : HINTING) + 0.5) * size * column;
    double line = TOP * (cells ? 1 : 1.3 * size) / (f->bottom - f->top);
    *left = rank + size * column;
    if (*left + width > end) { /* ends at the right edge */
        double beside = rank - size * column - width;
        bool high = level - share_up_to(r, rank - 1) > line;
        *left = high && beside > 0 ? beside : end - width;
        if (*left == beside)
            return level;
    }
    double above = *left < rank ? share_up_to(r, floor(*left)) : level;
    return fmin(level, above) - 0.8 * line;
}

static void put_levels(struct plot *plot, const struct frame *frame, const struct ranking *r)
{
    static const double levels[] = {0.5, 0.8, 0.9, 0.99};
    struct script *s = &plot->script;
    double line = TOP * (plot_is_text(plot) ? 1 : 1.2 * s->em) / (frame->bottom - frame->top);
    double before = 2 * TOP,
           right = 0; /* position of the previous text, and its right end [rows] */
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        size_t rank = rank_of(r, levels[i]);
        double left;
        if (i > 0 && s->height < 26 * s->em && levels[i] == 0.9)
            continue; /* too close to its neighbours */
        if (i + 1 < sizeof levels / sizeof levels[0] && rank == rank_of(r, levels[i + 1]))
            continue; /* reaches an even higher share */
        char *text = mem_printf("%zu make up %.0f %%", rank, 100 * levels[i]);
        double y = text_place(plot, frame, r, (double)rank, 100 * levels[i], text, &left);
        if (left < right && fabs(y - before) < line)
            y = before - line;
        before = y;
        right = left + text_width(text, plot_is_text(plot)) * HINTING * s->em * END *
                           (double)r->count / (frame->right - frame->left);
        script_add(s, "set label '' at first %zu,%g point pt 7 ps 0.8*dot lc rgb '%s' front\n",
                   rank, 100 * levels[i], s->theme->more);
        if (plot_is_text(plot))
            frame_label(plot, text, 1, " at first %.9g,%.9g left front", left, y);
        else
            frame_label(plot, text, 0.9 * s->em,
                        " at first %.9g,%.9g left front textcolor rgb '%s'", left, y,
                        s->theme->text);
        free(text);
    }
}

static void draw(struct plot *plot, const struct ranking *r, const char *subtitle)
{
    struct script *s = &plot->script;
    struct scale none = {.factor = 1};
    char *title = mem_printf("Cumulative share of %s over %zu rows", r->metric_name, r->count);
    struct frame frame = frame_begin(plot, title, subtitle);
    frame.left += plot_is_text(plot) ? 0 : s->em;
    frame_margins(plot, &frame);
    frame_xaxis(plot, &frame, 0, (double)r->count * END, &none, "rows, largest first");
    put_data(plot, r);
    put_levels(plot, &frame, r);
    if (r->count <= 12)
        script_add(s, "set xtics 1\n"); /* no fractions of rows */
    char *axis = mem_printf("share of %s [%%]", r->metric_name);
    frame_text_up(plot, 1.2 * s->em, (frame.top + frame.bottom) / 2, axis);
    script_add(s, "set border 3\nset yrange [0:%g]\nset ytics nomirror 20\n%s", TOP,
               plot_is_text(plot) ? "unset grid\n" : "");
    script_add(s, "plot $rows using 1:2 with %s lw 2 lc rgb '%s'\n",
               r->count < 60 ? "steps" : "lines", s->theme->bar);
    free(axis);
    free(title);
}

static int draw_cumulative(struct plot *plot, struct error *err)
{
    const struct plot_options *o = plot->options;
    struct ranking ranking;
    enum row_metric metric = METRIC_TIME;
    struct aggregate *a = ranking_read(plot, o->inputs, o->input_count, err);
    int result = a == NULL ? -1 : ranking_metric_of(plot, a, &metric, err);
    if (result == 0 && (metric == METRIC_POWER || metric == METRIC_INCLUSIVE))
        result = error_set_usage(
            err, NULL, "cumulative draws shares of time, energy, samples or calls, not of %s",
            row_metric_name(metric));
    if (result == 0) {
        ranking_make(&ranking, a, metric, 0);
        result = ranking_check(&ranking, err);
        double code = keep_code(&ranking);
        if (result == 0 && !(code > 0))
            result = error_set(err, NULL, NO_OFFSET,
                               "cannot draw shares: the total of %s is not above 0",
                               ranking.metric_name);
        if (result == 0) {
            char *subtitle = subtitle_of(plot, a, &ranking, code);
            draw(plot, &ranking, subtitle);
            free(subtitle);
        }
        if (result == 0 && plot->data != NULL)
            report_rows(a, &(struct report_options){.sort = metric}, &table_csv, plot->data);
        ranking_free(&ranking);
    }
    aggregate_delete(a);
    return result;
}

const struct plot_kind plot_cumulative = {.name = "cumulative",
                                          .help =
                                              "the share of the N largest functions in all code",
                                          .calls = true,
                                          .draw = draw_cumulative};
