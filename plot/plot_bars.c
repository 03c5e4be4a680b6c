/* bars: time, energy or another metric per key, largest first.
 * SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/frame.h"
#include "plot/page.h"

/* Returns the text at the end of a bar, "12.3 mJ  45.6 %". Caller frees. */
static char *bar_text(const struct ranking *r, const struct ranked_row *row)
{
    char *value = isnan(row->value) ? mem_strdup("-") : text_value(row->value, r->unit);
    if (!isnan(row->share))
        mem_append(&value, "  %.1f %%", 100 * row->share);
    return value;
}

/* Returns the extent of the bar and whisker of ROW, at most LIMIT. */
static double reach_of(const struct ranked_row *row, double limit)
{
    double value = row->value > 0 ? row->value : 0, error = row->error > 0 ? row->error : 0;
    return fmin(value + error, limit);
}

/* Returns where the most negative bar ends, or 0. */
static double lowest(const struct ranking *r)
{
    double low = 0;
    for (size_t i = 0; i < r->count; i++)
        low = fmin(low, isnan(r->rows[i].value) ? 0 : r->rows[i].value);
    return low;
}

static double longest(const struct ranking *r)
{
    double most = -lowest(r);
    for (size_t i = 0; i < r->count; i++)
        most = fmax(most, reach_of(&r->rows[i], ranking_limit(r)));
    return most;
}

/* Returns the end of the axis that leaves room for the text after the longest bar. */
static double axis_end(const struct plot *plot, const struct ranking *r, const struct frame *f,
                       double size, double low)
{
    bool cells = plot_is_text(plot);
    double width = f->right - f->left, end = 0, limit = ranking_limit(r);
    for (size_t i = 0; i < r->count; i++) {
        const struct ranked_row *row = &r->rows[i];
        char *text = bar_text(r, row);
        double room = width - (text_width(text, cells) + (cells ? 2 : 1.2)) * size;
        double reach = reach_of(row, limit) - low;
        end = fmax(end, reach * width / fmax(room, width * 0.1) + low);
        free(text);
    }
    return end > 0 ? end : 1;
}

static const char *bar_color(const struct plot *plot, const struct ranked_row *row)
{
    return row->other ? plot->script.theme->other : plot->script.theme->bar;
}

static void put_data(struct plot *plot, const struct ranking *r)
{
    struct script *s = &plot->script;
    script_add(s, "# row, %s [%s], half of the 95 %% interval, its ends, color, name\n",
               row_metric_name(r->metric), r->unit);
    script_data(s, "$rows");
    for (size_t i = 0; i < r->count; i++) {
        const struct ranked_row *row = &r->rows[i];
        script_number(s, (double)i);
        script_number(s, row->value);
        script_number(s, row->error);
        script_number(s, (double)strtol(bar_color(plot, row) + 1, NULL, 16));
        script_row_end_name(s, row->name);
    }
    script_data_end(s);
}

static void put_texts(struct plot *plot, const struct ranking *r, const struct scale *scale,
                      double size)
{
    double limit = ranking_limit(r);
    for (size_t i = 0; i < r->count; i++) {
        const struct ranked_row *row = &r->rows[i];
        char *text = bar_text(r, row);
        double at = reach_of(row, limit);
        frame_label(plot, text, size,
                    " at first %.9g,%zu left offset char 0.6,0 front textcolor rgb '%s'",
                    at / scale->factor, i, plot->script.theme->text);
        free(text);
    }
}

/* Draws bars of characters, because gnuplot only draws outlines in text. */
static void put_text_bars(struct plot *plot, const struct ranking *r, const struct frame *f,
                          double end)
{
    struct script *s = &plot->script;
    double width = f->right - f->left, limit = ranking_limit(r);
    for (size_t i = 0; i < r->count; i++) {
        double value = r->rows[i].value, part = value > 0 ? fmin(value, limit) / end * width : 0;
        char *bar = mem_zalloc((size_t)part + 2, 1), *text = bar_text(r, &r->rows[i]);
        memset(bar, '#', (size_t)(part + 0.5));
        if (value > limit && part > 5)
            memset(bar + (size_t)(part + 0.5) - 4, '/', 2);
        char *both = mem_printf("%s %s", bar, text);
        if (s->color)
            frame_label(plot, both, 1, " at first 0,%zu left textcolor rgb '%s'", i,
                        bar_color(plot, &r->rows[i]));
        else
            frame_label(plot, both, 1, " at first 0,%zu left", i);
        free(both);
        free(text);
        free(bar);
    }
    script_add(s, "unset grid\nunset border\nunset xtics\nunset xlabel\nplot NaN\n");
}

static void put_bars(struct plot *plot, const struct ranking *r, const struct scale *scale,
                     const struct rows_layout *layout)
{
    struct script *s = &plot->script;
    double half = fmin(0.36, 1.3 * s->em / layout->height);
    double limit = ranking_limit(r);
    bool errors = false;
    for (size_t i = 0; i < r->count; i++)
        errors |= r->rows[i].error > 0;
    frame_row_axes(plot);
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].value > limit)
            frame_break(plot, i, 0.96 * limit / scale->factor, half);
    script_add(s,
               "plot $rows using (0):1:(0):($2>%.17g?%.17g:$2/%g):($1-%g):($1+%g):4 with "
               "boxxyerror fillcolor rgb variable",
               isfinite(limit) ? limit : DBL_MAX, isfinite(limit) ? limit / scale->factor : 0,
               scale->factor, half, half);
    if (errors)
        script_add(
            s, ", $rows using ($3>0?$2/%g:1/0):1:($3/%g) with xerrorbars pt -1 lw 1.2 lc rgb '%s'",
            scale->factor, scale->factor, s->theme->text);
    script_add(s, "\n");
}

static char *title_of(const struct aggregate *a, const struct ranking *r)
{
    const struct pbin_keys *keys = aggregate_keys(a);
    const struct pbin_meta *meta = aggregate_meta(a);
    const char *of = meta->target != NULL ? strrchr(meta->target, '/') : NULL;
    of = of != NULL ? of + 1 : meta->target;
    char *title = mem_printf("%c%s per %s%s%s", r->metric_name[0] & ~0x20, r->metric_name + 1,
                             pbin_key_get((size_t)keys->key[keys->count - 1])->name,
                             of != NULL && of[0] != '\0' ? " of " : "", of != NULL ? of : "");
    for (char *c = title; *c != '\0'; c++)
        if (*c == '_' && c < title + strlen(r->metric_name))
            *c = ' ';
    return title;
}

static void draw(struct plot *plot, const struct aggregate *a, const struct ranking *r,
                 const struct rows_layout *layout)
{
    char **names = mem_zalloc(r->count + 1, sizeof *names);
    char *title = title_of(a, r), *subtitle = frame_subtitle_of(plot, a);
    struct frame frame = frame_begin(plot, title, subtitle);
    for (size_t i = 0; i < r->count; i++)
        names[i] = r->rows[i].name;
    frame_names(plot, &frame, layout, names, r->count);
    double low = plot_is_text(plot) ? 0 : 1.05 * lowest(r);
    double end = axis_end(plot, r, &frame, layout->size, low);
    struct scale scale = scale_for(longest(r), r->unit);
    frame_margins(plot, &frame);
    frame_xaxis(plot, &frame, low, end, &scale, r->metric_name);
    put_data(plot, r);
    if (plot_is_text(plot)) {
        put_text_bars(plot, r, &frame, end);
    } else {
        put_texts(plot, r, &scale, layout->size);
        put_bars(plot, r, &scale, layout);
    }
    free(names);
    free(title);
    free(subtitle);
}

/* Returns whether METRIC is a column beside the drawn one. */
static bool is_column(const struct quantity *q, const struct ranking *r, enum row_metric metric)
{
    return metric != r->metric &&
           (q->name != NULL || (metric != METRIC_ENERGY && metric != METRIC_POWER));
}

static void put_page(struct plot *plot, const struct aggregate *a, const struct ranking *r)
{
    const struct quantity *q = aggregate_quantity(a);
    char *title = title_of(a, r), *subtitle = frame_subtitle_of(plot, a);
    page_begin(plot, "rows", title, subtitle);
    page_begin_rows(plot, 0);
    page_column(plot, r->metric_name, r->unit);
    page_column(plot, "share", "%");
    for (int m = METRIC_TIME; m <= METRIC_SAMPLES; m++)
        if (is_column(q, r, (enum row_metric)m))
            page_column(plot, ranking_metric_name(q, (enum row_metric)m),
                        ranking_metric_unit(q, (enum row_metric)m));
    page_end_columns(plot);
    for (size_t i = 0; i < r->count; i++) {
        const struct ranked_row *row = &r->rows[i];
        double values[2 + METRICS] = {row->value, 100 * row->share};
        size_t count = 2;
        for (int m = METRIC_TIME; m <= METRIC_SAMPLES; m++)
            if (is_column(q, r, (enum row_metric)m))
                values[count++] = row_value(&row->values, (enum row_metric)m);
        page_row(plot, row->name, row->other ? row->name : "code", bar_color(plot, row), values,
                 count, row->error, "");
    }
    page_close(plot, ']');
    free(title);
    free(subtitle);
}

static int draw_bars(struct plot *plot, struct error *err)
{
    const struct plot_options *o = plot->options;
    struct ranking ranking;
    enum row_metric metric;
    struct aggregate *a = ranking_read(plot, o->inputs, o->input_count, err);
    if (a == NULL)
        return -1;
    if (ranking_metric_of(plot, a, &metric, err) != 0) {
        aggregate_delete(a);
        return -1;
    }
    size_t rows = aggregate_row_count(a),
           wanted = o->top > 0 && o->top < rows ? o->top + 1 : o->top;
    bool page = plot->script.picture == PICTURE_HTML;
    struct rows_layout layout = {.count = page ? page_rows(o->top, rows) : 0};
    if (!page)
        layout = frame_rows(plot, wanted, rows);
    ranking_make(&ranking, a, metric, layout.count < rows ? layout.count - 1 : 0);
    if (o->intervals)
        ranking_intervals(&ranking, a);
    int result = ranking_check(&ranking, err);
    if (result == 0 && page)
        put_page(plot, a, &ranking);
    else if (result == 0)
        draw(plot, a, &ranking, &layout);
    if (result == 0 && plot->data != NULL)
        report_rows(a,
                    &(struct report_options){
                        .sort = metric, .top = ranking.code, .intervals = o->intervals},
                    &table_csv, plot->data);
    ranking_free(&ranking);
    aggregate_delete(a);
    return result;
}

const struct plot_kind plot_bars = {.name = "bars",
                                    .help = "a metric per function or other key, with its share",
                                    .draws_page = true,
                                    .calls = true,
                                    .draw = draw_bars};
