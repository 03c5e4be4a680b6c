/* timeline: power over time above a lane per thread, coloured by the functions it ran.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/frame.h"
#include "plot/page.h"
#include "plot/time_bins.h"

enum {
    MAX_BINS = 1200,
    MAX_LANES = 64,
    MAX_CELLS = 24000 /* of the lanes of a page, to keep it below 1 MB */
};

struct timeline {
    struct plot *plot;
    struct time_bins bins;
    struct frame frame; /* of both panels together */
    struct scale time;
    double split; /* end of the upper panel, from the top */
    const char *colors[SERIES + 1];
    double group; /* number of bins drawn together in the lanes */
    double full,
        full_rest; /* numbers of CPUs that fill the height of a lane, and of the lane of several
                    * threads */
};

static bool has_power(const struct timeline *t)
{
    if (t->plot->options->metric_given && t->plot->options->metric == METRIC_TIME)
        return false;
    for (size_t i = 0; i < t->bins.count; i++)
        if (t->bins.energy[i] != 0)
            return true;
    return false;
}

static double mean_of(const struct time_bins *b, size_t i)
{
    return b->seconds[i] > 0 ? b->energy[i] / b->seconds[i] : NAN;
}

/* Writes a point per bin. */
static void put_power_data(struct timeline *t)
{
    struct script *s = &t->plot->script;
    const struct time_bins *b = &t->bins;
    script_add(s, "# time [s], lowest, highest and mean %s [%s]\n", b->quantity.rate_name,
               b->quantity.rate_unit);
    script_data(s, "$power");
    for (size_t i = 0; i < b->count; i++) {
        bool alone = (i == 0 || isnan(b->low[i - 1])) &&
                     (i + 1 == b->count || isnan(b->low[i + 1])); /* a line needs two points */
        for (int point = 0; point < (alone ? 2 : 1); point++) {
            script_number(s, b->start + ((double)i + (alone ? point : 0.5)) * b->width);
            script_number(s, b->low[i]);
            script_number(s, b->high[i]);
            script_number(s, mean_of(b, i));
            script_row_end(s);
        }
    }
    script_data_end(s);
}

static void put_marks(const struct timeline *t, bool with_text)
{
    const struct plot_options *o = t->plot->options;
    struct script *s = &t->plot->script;
    for (size_t i = 0; i < o->mark_count; i++) {
        double at = o->marks[i].at / t->time.factor;
        script_add(s,
                   "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead front dt 2 lc "
                   "rgb '%s'\n",
                   at, at, s->theme->text);
        if (with_text && o->marks[i].text[0] != '\0')
            frame_label(
                t->plot, o->marks[i].text, 0.85 * s->em,
                " at first %.9g, graph 0.94 left offset char 0.4,0 front textcolor rgb '%s'", at,
                s->theme->text);
    }
}

static void put_xrange(struct timeline *t)
{
    const struct time_bins *b = &t->bins;
    double end = b->start + (double)b->count * b->width;
    script_add(&t->plot->script, "set xrange [%.17g:%.17g]\n", b->start / t->time.factor,
               end / t->time.factor);
}

static void put_power(struct timeline *t)
{
    struct script *s = &t->plot->script;
    const struct time_bins *b = &t->bins;
    double most = 0, least = 0;
    for (size_t i = 0; i < b->count; i++) {
        most = b->high[i] > most ? b->high[i] : most;
        least = b->low[i] < least ? b->low[i] : least;
    }
    struct scale scale = scale_for(fmax(most, -least), b->quantity.rate_unit);
    least *= 1.08;
    most = most > 0 || least < 0 ? 1.08 * most : 1;
    struct frame panel = t->frame;
    panel.bottom = t->split;
    put_power_data(t);
    frame_margins(t->plot, &panel);
    put_xrange(t);
    put_marks(t, true);
    char *title = frame_axis_title(b->quantity.rate_name, scale.unit);
    double height = panel.bottom - panel.top,
           step = frame_step((most - least) / scale.factor, height, 2 * s->em);
    script_add(s,
               "set border 3\nset ytics nomirror %.9g\nset xtics nomirror scale 0.5 format ''\n"
               "set yrange [%.9g:%.9g]\n",
               step, least / scale.factor, most / scale.factor);
    frame_text_up(t->plot, 1.2 * s->em, panel.top + height / 2, title);
    if (plot_is_text(t->plot)) {
        script_add(s, "set ylabel ");
        script_quote(s, title);
        script_add(s, "\n");
        frame_xtics(t->plot, b->start / t->time.factor,
                    (b->start + (double)b->count * b->width) / t->time.factor,
                    panel.right - panel.left);
        char *time = frame_axis_title(b->has_seconds ? "time" : "sample", t->time.unit);
        frame_text(t->plot, t->frame.left - 2, t->split + 1, ANCHOR_RIGHT, s->theme->text, 1, time);
        free(time);
    }
    free(title);
    if (plot_is_text(t->plot))
        script_add(s, "unset grid\nplot $power using ($1/%g):($4/%g) with lines\n", t->time.factor,
                   scale.factor);
    else
        script_add(
            s,
            "plot $power using ($1/%g):($2/%g):($3/%g) with filledcurves fc rgb '%s' fs "
            "transparent solid 0.15 noborder, $power using ($1/%g):($4/%g) with lines lw 1.4 "
            "lc rgb '%s'\n",
            t->time.factor, scale.factor, scale.factor, s->theme->text, t->time.factor,
            scale.factor, s->theme->text); /* the other colours are those of functions */
}

static bool is_shared(const struct time_bins *b, size_t lane)
{
    return b->rest > 0 && lane + 1 == b->lane_count;
}

/* Returns how many CPUs the threads of LANE can use at once. */
static double cpus_of(const struct time_bins *b, size_t lane)
{
    return !is_shared(b, lane)                          ? 1
           : b->meta.cpus > 0 && b->meta.cpus < b->rest ? (double)b->meta.cpus
                                                        : (double)b->rest;
}

/* Sets PARTS to the part of the time that LANE spent in each series in the bins of group G. */
static void parts_of(const struct timeline *t, size_t lane, size_t g, double *parts)
{
    const struct time_bins *b = &t->bins;
    size_t from = (size_t)((double)g * t->group), to = (size_t)((double)(g + 1) * t->group);
    to = to > b->count ? b->count : to;
    double sum = 0, whole = (double)(to - from) * b->width * cpus_of(b, lane);
    for (size_t k = 0; k < b->series; k++) {
        parts[k] = 0;
        for (size_t i = from; i < to; i++)
            parts[k] += (double)time_cell(b, lane, i)[k] / whole;
        sum += parts[k];
    }
    for (size_t k = 0; k < b->series && sum > 1; k++) /* CPU time advances in large steps */
        parts[k] /= sum;
}

static size_t group_count(const struct timeline *t)
{
    return (size_t)ceil((double)t->bins.count / t->group);
}

/* Returns the most CPUs that lanes of one thread, or the lane of several (SHARED), use in a
 * group. */
static double busiest(const struct timeline *t, bool shared)
{
    double parts[SERIES + 1], most = 0;
    for (size_t lane = 0; lane < t->bins.lane_count; lane++)
        for (size_t g = 0; g < group_count(t) && is_shared(&t->bins, lane) == shared; g++) {
            double sum = 0;
            parts_of(t, lane, g, parts);
            for (size_t k = 0; k < t->bins.series; k++)
                sum += parts[k] * cpus_of(&t->bins, lane);
            most = fmax(most, sum);
        }
    return most;
}

/* Returns a round number of CPUs, at least MOST but not more than ALL. */
static double round_up(double most, double all)
{
    double power = pow(10, floor(log10(most > 0 ? most : 1))), digits = most / power;
    double up = power * (digits <= 1.0001 ? 1 : digits <= 2.0001 ? 2 : digits <= 5.0001 ? 5 : 10);
    return most > 0 && up < all ? up : all;
}

/* Sets the numbers of CPUs that fill lanes: if it were a whole CPU, lanes of threads that mostly
 * wait would look empty. */
static void set_heights(struct timeline *t)
{
    const struct time_bins *b = &t->bins;
    t->full = round_up(busiest(t, false), 1);
    t->full_rest = b->rest > 0 ? round_up(busiest(t, true), cpus_of(b, b->lane_count - 1)) : 0;
}

struct run {
    double begin, end, top;
};

static void put_run(struct timeline *t, const struct run *run, double base)
{
    struct script *s = &t->plot->script;
    if (run->end > run->begin)
        script_add(s, "%.7g\t%.5g\t%.5g\n%.7g\t%.5g\t%.5g\n", run->begin, base, run->top, run->end,
                   base, run->top);
}

/* Draws the steps of series K and those below it in LANE; the series below are painted over it, so
 * that there are no visible seams. Neighbours of the same height are merged. */
static void put_lane_series(struct timeline *t, size_t lane, size_t k)
{
    const struct time_bins *b = &t->bins;
    double base = (double)lane + 0.42, parts[SERIES + 1] = {0};
    double full = is_shared(b, lane) ? t->full_rest : t->full;
    double height = 0.84 * cpus_of(b, lane) / full; /* of all CPUs */
    struct run run = {0};
    bool open = false;
    for (size_t g = 0; g < group_count(t); g++) {
        double top = base, begin = b->start + (double)g * t->group * b->width;
        double end = fmin(begin + t->group * b->width, b->start + (double)b->count * b->width);
        parts_of(t, lane, g, parts);
        for (size_t i = 0; i <= k; i++)
            top -= height * parts[i];
        bool shows = height * parts[k] > 0.004;
        if (open && shows && fabs(run.top - top) < 0.004) {
            run.end = end;
            continue;
        }
        if (open)
            put_run(t, &run, base);
        if (open && !shows)
            script_add(&t->plot->script, "\n");
        open = shows;
        run = (struct run){begin, end, top};
    }
    if (open)
        put_run(t, &run, base);
    script_add(&t->plot->script, "\n");
}

static void put_lane_data(struct timeline *t)
{
    struct script *s = &t->plot->script;
    for (size_t k = 0; k < t->bins.series; k++) {
        char name[32];
        snprintf(name, sizeof name, "$series%zu", k);
        script_data(s, name);
        script_add(s, "%.7g\tNaN\tNaN\n\n", t->bins.start);
        for (size_t lane = 0; lane < t->bins.lane_count; lane++)
            put_lane_series(t, lane, k);
        script_data_end(s);
    }
}

/* Draws lanes as lines of letters: that of the function that ran longest, in lower case if it ran
 * less than half of the time. */
static void put_letters(struct timeline *t)
{
    const struct frame *f = &t->frame;
    size_t columns = (size_t)(f->right - f->left);
    t->group = (double)t->bins.count / (double)columns;
    t->group = t->group < 1 ? 1 : t->group;
    double parts[SERIES + 1], first = t->split + (has_power(t) ? 2 : 0);
    char *line = mem_zalloc(columns + 1, 1);
    for (size_t lane = 0; lane < t->bins.lane_count; lane++) {
        for (size_t c = 0; c < columns; c++) {
            size_t best = 0;
            double g = floor((double)c * (double)group_count(t) / (double)columns), sum = 0;
            parts_of(t, lane, (size_t)g, parts);
            for (size_t k = 0; k < t->bins.series; k++) {
                best = parts[k] > parts[best] ? k : best;
                sum += parts[k];
            }
            line[c] = sum < 0.02 ? ' '
                      : strcmp(t->bins.names[best], "_other") == 0
                          ? '.'
                          : (char)((sum < 0.5 ? 'a' : 'A') + (int)best);
        }
        frame_text(t->plot, f->left, first + (double)lane, ANCHOR_LEFT, t->plot->script.theme->text,
                   1, line);
        char *name = text_fit_name(t->bins.lanes[lane].name, f->left - 1, true, NULL);
        frame_text(t->plot, f->left - 2, first + (double)lane, ANCHOR_RIGHT,
                   t->plot->script.theme->text, 1, name);
        free(name);
    }
    free(line);
}

static void put_lanes(struct timeline *t)
{
    struct script *s = &t->plot->script;
    const struct time_bins *b = &t->bins;
    struct frame panel = t->frame;
    double gap = has_power(t) ? s->em : 0;
    panel.top = t->split + gap;
    double size = fmin(0.9 * s->em, 0.9 * (panel.bottom - panel.top) / (double)b->lane_count);
    double least =
        fmax(7, 0.7 * s->em); /* smallest readable size; if necessary, only every second or third
                               * lane is named */
    char **names = mem_zalloc(b->lane_count + 1, sizeof *names);
    for (size_t i = 0; i < b->lane_count; i++)
        names[i] = size >= least || i % (size_t)ceil(least / size) == 0 ? b->lanes[i].name : "";
    struct rows_layout layout = {.count = b->lane_count,
                                 .size = fmax(size, least),
                                 .name_width = t->frame.left - 0.3 * s->em};
    put_lane_data(t);
    if (has_power(t)) /* already drawn by the upper panel */
        script_add(s, "unset label\nunset object\nunset arrow\n");
    script_add(s, "set border 1\n");
    struct frame named = panel;
    frame_names(t->plot, &named, &layout, names, b->lane_count);
    free(names);
    frame_margins(t->plot, &panel);
    frame_xaxis(t->plot, &panel, b->start, b->start + (double)b->count * b->width, &t->time,
                b->has_seconds ? "time" : "sample");
    put_marks(t, !has_power(t));
    script_add(s, "set grid noytics xtics\nset xtics nomirror scale 0.5\n");
    for (size_t k = b->series; k-- > 0;)
        script_add(s, "%s$series%zu using ($1/%g):2:3 with filledcurves fc rgb '%s'",
                   k + 1 == b->series ? "plot " : ", ", k, t->time.factor, t->colors[k]);
    script_add(s, "\n");
}

static void choose_colors(struct timeline *t)
{
    const struct theme *theme = t->plot->script.theme;
    for (size_t k = 0; k < t->bins.series; k++)
        t->colors[k] = strcmp(t->bins.names[k], "_other") == 0 || k >= SERIES ? theme->other
                                                                              : theme->series[k];
}

static double widest_lane_name(const struct timeline *t)
{
    bool cells = plot_is_text(t->plot);
    double widest = 0, size = cells ? 1 : 0.9 * t->plot->script.em;
    for (size_t i = 0; i < t->bins.lane_count; i++)
        widest = fmax(widest, text_width(t->bins.lanes[i].name, cells) * size);
    return widest + (cells ? 2 : 2 * size);
}

static void lay_out(struct timeline *t, const char *title, const char *subtitle)
{
    struct plot *plot = t->plot;
    const struct time_bins *b = &t->bins;
    double em = plot->script.em;
    t->frame = frame_begin(plot, title, subtitle);
    double legend = frame_legend(plot, 0, b->names, t->colors, b->series, false);
    double gap = plot_is_text(plot) ? 1 : 0.4 * em;
    frame_legend(plot, plot->script.height - gap, b->names, t->colors, b->series, true);
    t->frame.bottom -= legend + gap - (plot_is_text(plot) ? 0 : 0.4 * em);
    t->frame.left =
        fmax(plot_is_text(plot) ? 9 : 6 * em, fmin(widest_lane_name(t), plot->script.width * 0.25));
    t->frame.bottom += plot_is_text(plot) ? 2 : 0; /* the axis is above the lanes */
    double height = t->frame.bottom - t->frame.top;
    double lanes = (double)b->lane_count;
    double share = plot_is_text(plot) ? fmin(height * 0.7, lanes + 2)
                                      : fmin(height * 0.7, fmax(lanes * 4 * em, height * 0.3));
    t->split = has_power(t) ? t->frame.bottom - share : t->frame.top;
}

static void write_data(const struct timeline *t)
{
    const struct time_bins *b = &t->bins;
    enum { FIXED = 5 };
    struct table_column columns[FIXED + SERIES + 1] = {
        TABLE_COLUMN("start", b->has_seconds ? "s" : "", false),
        TABLE_COLUMN("seconds", "s", false), TABLE_COLUMN("low", b->quantity.rate_unit, false),
        TABLE_COLUMN("mean", b->quantity.rate_unit, false),
        TABLE_COLUMN("high", b->quantity.rate_unit, false)};
    for (size_t k = 0; k < b->series; k++)
        columns[FIXED + k] = (struct table_column)TABLE_COLUMN(b->names[k], "s", false);
    struct table_head head = {.columns = columns, .column_count = FIXED + b->series};
    struct table *table = table_open(&table_csv, t->plot->data, &head);
    for (size_t i = 0; i < b->count; i++) {
        struct table_cell cells[FIXED + SERIES + 1] = {
            cell_real(b->start + (double)i * b->width), cell_real(b->seconds[i]),
            cell_real(b->low[i]), cell_real(mean_of(b, i)), cell_real(b->high[i])};
        for (size_t k = 0; k < b->series; k++) {
            double used = 0;
            for (size_t lane = 0; lane < b->lane_count; lane++)
                used += (double)time_cell(b, lane, i)[k];
            cells[FIXED + k] = cell_real(used);
        }
        table_row(table, cells);
    }
    table_close(table);
}

static char *subtitle_of(const struct timeline *t)
{
    char *text = frame_subtitle(t->plot, &t->bins.meta, 1);
    bool several = t->bins.rest > 0 && t->bins.lane_count > 1;
    if (several)
        mem_append(&text, " \xc2\xb7 the %zu busiest of %zu threads", t->bins.lane_count - 1,
                   t->bins.thread_count);
    if (plot_is_text(t->plot))
        return text;
    double full = t->bins.rest > 0 && !several ? t->full_rest : t->full;
    mem_append(&text, " \xc2\xb7 full lane: %g CPU%s", full, full == 1 ? "" : "s");
    if (several)
        mem_append(&text, ", the last: %g", t->full_rest);
    return text;
}

static void put_page_power(const struct timeline *t)
{
    struct plot *plot = t->plot;
    const struct time_bins *b = &t->bins;
    page_put_open(plot, "power", '{');
    page_put_text(plot, "name", b->quantity.rate_name);
    page_put_text(plot, "unit", b->quantity.rate_unit);
    static const char *const names[] = {"low", "mean", "high"};
    for (size_t n = 0; n < 3; n++) {
        page_put_open(plot, names[n], '[');
        for (size_t i = 0; i < b->count; i++)
            page_number(plot, n == 0 ? b->low[i] : n == 1 ? mean_of(b, i) : b->high[i]);
        page_close(plot, ']');
    }
    page_close(plot, '}');
}

/* Writes pairs of numbers: 16 * bin + series, and the part of the lane's CPUs in thousandths, if it
 * is not 0. */
static void put_page_lane(const struct timeline *t, size_t lane)
{
    struct plot *plot = t->plot;
    double parts[SERIES + 1] = {0};
    page_open(plot, '{');
    page_put_name(plot, t->bins.lanes[lane].name);
    page_put_open(plot, "cells", '[');
    for (size_t g = 0; g < group_count(t); g++) {
        parts_of(t, lane, g, parts);
        for (size_t k = 0; k < t->bins.series; k++) {
            double part = round(1000 * parts[k]);
            if (part < 1)
                continue;
            page_number(plot, 16 * (double)g * t->group + (double)k);
            page_number(plot, part);
        }
    }
    page_close(plot, ']');
    page_close(plot, '}');
}

static void put_page(struct timeline *t, const char *title, const char *subtitle)
{
    struct plot *plot = t->plot;
    const struct time_bins *b = &t->bins;
    t->group = fmax(1, ceil((double)(b->count * b->lane_count) / MAX_CELLS));
    page_begin(plot, "timeline", title, subtitle);
    page_put_number(plot, "start", b->start);
    page_put_number(plot, "width", b->width);
    page_put_number(plot, "count", (double)b->count);
    page_put_number(plot, "group", t->group);
    page_put_text(plot, "unit", b->has_seconds ? "s" : "");
    if (has_power(t))
        put_page_power(t);
    page_put_open(plot, "series", '[');
    for (size_t k = 0; k < b->series; k++) {
        page_open(plot, '{');
        page_put_name(plot, b->names[k]);
        page_put_text(plot, "color", t->colors[k]);
        page_close(plot, '}');
    }
    page_close(plot, ']');
    page_put_open(plot, "lanes", '[');
    for (size_t lane = 0; lane < b->lane_count; lane++)
        put_page_lane(t, lane);
    page_close(plot, ']');
}

static void put_picture(struct timeline *t, const char *title, const char *subtitle, bool power)
{
    struct plot *plot = t->plot;
    const struct time_bins *b = &t->bins;
    t->time = scale_for(b->has_seconds ? (double)b->count * b->width + b->start : 0, "s");
    if (!b->has_seconds)
        t->time.unit[0] = '\0';
    lay_out(t, title, subtitle);
    if (plot_is_text(plot)) {
        put_letters(t);
        if (power)
            put_power(t);
        else
            script_add(&plot->script, "unset border\nunset tics\nplot [0:1][0:1] NaN\n");
        return;
    }
    script_add(&plot->script, "set multiplot\n");
    if (power)
        put_power(t);
    put_lanes(t);
    script_add(&plot->script, "unset multiplot\n");
}

static void draw(struct timeline *t)
{
    struct plot *plot = t->plot;
    const struct time_bins *b = &t->bins;
    bool power = has_power(t);
    t->group =
        fmax(1, ceil((double)b->count /
                     fmin(plot->script.width / 3, 60000.0 / fmax(60, (double)b->lane_count * 6))));
    t->full = 1;
    t->full_rest = b->rest > 0 ? cpus_of(b, b->lane_count - 1) : 0;
    if (plot->script.picture != PICTURE_HTML)
        set_heights(t);
    char *subtitle = subtitle_of(t);
    const char *of = b->meta.target != NULL ? b->meta.target : "";
    char *title = mem_printf("%s of %s over time", power ? b->quantity.rate_name : "Threads",
                             of[0] != '\0' ? of : "the program");
    title[0] = (char)(title[0] >= 'a' && title[0] <= 'z' ? title[0] - 32 : title[0]);
    choose_colors(t);
    if (plot->script.picture == PICTURE_HTML)
        put_page(t, title, subtitle);
    else
        put_picture(t, title, subtitle, power);
    free(title);
    free(subtitle);
}

static bool needs_power(const struct plot_options *o)
{
    return o->metric_given && (o->metric == METRIC_ENERGY || o->metric == METRIC_POWER);
}

static int draw_timeline(struct plot *plot, struct error *err)
{
    const struct script *s = &plot->script;
    size_t top = plot->options->top, series = top > 0 && top < SERIES ? top
                                              : s->width < 600        ? 5
                                                                      : SERIES;
    double columns = plot_is_text(plot) ? 2 * s->width : s->width * 0.8;
    double lanes = plot_is_text(plot) ? s->height / 3 : (s->height - 14 * s->em) * 0.7 / s->em;
    if (s->picture == PICTURE_HTML) { /* pages can be scrolled and zoomed */
        columns = MAX_BINS;
        lanes = MAX_LANES;
    }
    struct timeline t = {.plot = plot};
    struct time_request request = {
        .kind = "timeline",
        .bins = (size_t)fmin(MAX_BINS, columns),
        .lanes = plot->options->no_threads ? 1 : (size_t)fmax(1, fmin(MAX_LANES, lanes)),
        .series = series};
    if (time_bins_read(&t.bins, plot, &request, err) != 0)
        return -1;
    if (needs_power(plot->options) && t.bins.quantity.name == NULL) {
        time_bins_free(&t.bins);
        return error_set(err, plot->options->input_count > 0 ? plot->options->inputs[0] : "<stdin>",
                         NO_OFFSET, "cannot draw %s: the profile has no PMU values",
                         row_metric_name(plot->options->metric));
    }
    draw(&t);
    if (plot->data != NULL)
        write_data(&t);
    time_bins_free(&t.bins);
    return 0;
}

const struct plot_kind plot_timeline = {.name = "timeline",
                                        .help = "power over time, and the functions of each thread",
                                        .draws_page = true,
                                        .over_time = true,
                                        .draw = draw_timeline};
