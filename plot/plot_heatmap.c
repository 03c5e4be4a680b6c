/* heatmap: the time or energy of each function over time.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/frame.h"
#include "plot/page.h"
#include "plot/time_bins.h"

enum { PAGE_ROWS = 40, MAX_PAGE_ROWS = 200 /* so that a page is below 1 MB */ };

struct heatmap {
    struct plot *plot;
    struct time_bins bins;
    enum row_metric metric;
    const char *name, *unit; /* the unit: energy or time per second */
    double most;             /* end of the scale */
};

/* Returns the value of series K in bin I: power, or thread time per second. */
static double value_of(const struct time_bins *b, size_t i, size_t k)
{
    return (double)time_cell(b, 0, i)[k] / b->width;
}

static double largest_of(const struct time_bins *b, size_t k)
{
    double most = 0;
    for (size_t i = 0; i < b->count; i++)
        most = fmax(most, value_of(b, i, k));
    return most;
}

/* Finds the end of the scale. Rows that are not code, or are the sum of many rows, may exceed it:
 * otherwise, all other rows would be pale. */
static void find_end(struct heatmap *h)
{
    const struct time_bins *b = &h->bins;
    double code = 0, rest = 0;
    for (size_t k = 0; k < b->series; k++) {
        double *most = label_is_no_code(b->names[k]) ? &rest : &code;
        *most = fmax(*most, largest_of(b, k));
    }
    h->most = scale_end(code, rest);
}

/* Appends " · _idle: beyond the scale" to TEXT, if any row is. */
static void append_beyond(const struct heatmap *h, char **text)
{
    const char *separator = " \xc2\xb7 ";
    for (size_t k = 0; k < h->bins.series; k++)
        if (largest_of(&h->bins, k) > h->most) {
            mem_append(text, "%s%s", separator, h->bins.names[k]);
            separator = ", ";
        }
    if (separator[0] == ',')
        mem_append(text, ": beyond the scale");
}

/* Returns how often to repeat a row or column: gnuplot cannot draw an image with a single one,
 * which is drawn in two halves. */
static size_t repeats(size_t count)
{
    return count == 1 ? 2 : 1;
}

static void put_data(struct heatmap *h)
{
    struct script *s = &h->plot->script;
    const struct time_bins *b = &h->bins;
    script_add(s, "# a row per function, a column per bin of %.9g s from %.9g s: %s [%s]\n",
               b->width, b->start, h->name, h->unit);
    script_data(s, "$map");
    for (size_t k = 0; k < b->series * repeats(b->series); k++) {
        for (size_t i = 0; i < b->count * repeats(b->count); i++)
            script_number(s, value_of(b, i / repeats(b->count), k / repeats(b->series)));
        script_row_end(s);
    }
    script_data_end(s);
}

/* Returns the style of images. PNG and PDF have an image, because the background would show between
 * cells that are drawn as rectangles. In SVG, viewers blur scaled images, but draw rectangles
 * sharply. */
static const char *image_of(const struct script *s)
{
    return s->picture == PICTURE_PNG || s->picture == PICTURE_PDF ? "image" : "image pixels";
}

static void put_map(struct heatmap *h, const struct frame *f, const struct scale *time,
                    const struct scale *scale)
{
    struct script *s = &h->plot->script;
    const struct time_bins *b = &h->bins;
    double em = s->em, most = h->most, high = 1.0 / (double)repeats(b->series);
    double wide = b->width / time->factor / (double)repeats(b->count);
    script_add(s, "set palette defined (%s)\nset cbtics nomirror %.9g\nset format cb '%%g'\n",
               s->theme->heat,
               frame_step(most > 0 ? most / scale->factor : 1, f->bottom - f->top, 2 * s->em));
    script_add(s, "set colorbox user origin screen %.6f,%.6f size screen %.6f,%.6f noborder\n",
               (f->right + em) / s->width, 1 - f->bottom / s->height, em / s->width,
               (f->bottom - f->top) / s->height);
    char *title = frame_axis_title(h->name, scale->unit);
    frame_text_up(h->plot, s->width - 1.2 * em, (f->top + f->bottom) / 2, title);
    free(title);
    script_add(s,
               "unset grid\nset xtics scale 0\nset cbrange [0:%.9g]\n"
               "plot $map matrix using (%.12g+$1*%.12g):($2*%g%+g):($3/%g) with %s\n",
               most > 0 ? most / scale->factor : 1, b->start / time->factor + wide / 2, wide, high,
               high / 2 - 0.5, scale->factor, image_of(s));
}

/* Draws text: one character per cell, from light to dark. */
static void put_characters(struct heatmap *h, const struct frame *f)
{
    static const char shades[] = " .:-=+*#%@";
    const struct time_bins *b = &h->bins;
    double most = h->most;
    char *line = mem_zalloc(b->count + 1, 1);
    for (size_t k = 0; k < b->series; k++) {
        for (size_t i = 0; i < b->count; i++) {
            double part = most > 0 ? value_of(b, i, k) / most : 0;
            line[i] = shades[part > 0 ? 1 + (int)(fmin(part, 1) * 8.49) : 0];
        }
        frame_text(h->plot, f->left, f->top + (double)k, ANCHOR_LEFT, h->plot->script.theme->text,
                   1, line);
    }
    free(line);
    script_add(&h->plot->script, "unset border\nunset xtics\nunset xlabel\nunset grid\nplot NaN\n");
}

static void put_page(struct heatmap *h, const char *title, const char *subtitle)
{
    struct plot *plot = h->plot;
    const struct time_bins *b = &h->bins;
    page_begin(plot, "heatmap", title, subtitle);
    page_put_number(plot, "start", b->start);
    page_put_number(plot, "width", b->width);
    page_put_number(plot, "count", (double)b->count);
    page_put_text(plot, "unit", b->has_seconds ? "s" : "");
    page_put_text(plot, "name", h->name);
    page_put_text(plot, "metric", h->unit);
    page_put_number(plot, "most", h->most);
    page_put_open(plot, "rows", '[');
    for (size_t k = 0; k < b->series; k++) {
        page_open(plot, '{');
        page_put_name(plot, b->names[k]);
        page_put_open(plot, "values", '[');
        for (size_t i = 0; i < b->count; i++)
            page_number(plot, (double)(float)value_of(b, i, k));
        page_close(plot, ']');
        page_close(plot, '}');
    }
    page_close(plot, ']');
}

static void put_picture(struct heatmap *h, const struct rows_layout *layout, const char *title,
                        const char *subtitle)
{
    struct plot *plot = h->plot;
    const struct time_bins *b = &h->bins;
    double end = b->start + (double)b->count * b->width;
    struct scale time = scale_for(b->has_seconds ? end : 0, "s"),
                 scale = scale_for(h->most, h->unit);
    struct frame frame = frame_begin(plot, title, subtitle);
    if (!b->has_seconds)
        time.unit[0] = '\0';
    frame_names(plot, &frame, layout, b->names, b->series);
    if (!plot_is_text(plot))
        frame.right -= 6 * plot->script.em;
    frame_margins(plot, &frame);
    frame_xaxis(plot, &frame, b->start, end, &time, b->has_seconds ? "time" : "sample");
    if (plot_is_text(plot)) {
        put_characters(h, &frame);
    } else {
        put_data(h);
        put_map(h, &frame, &time, &scale);
    }
}

static void draw(struct heatmap *h, const struct rows_layout *layout)
{
    struct plot *plot = h->plot;
    char *subtitle = frame_subtitle(plot, &h->bins.meta, 1);
    append_beyond(h, &subtitle);
    char *title =
        mem_printf("%s of functions over time", h->metric == METRIC_ENERGY ? h->name : "CPU use");
    title[0] = (char)(title[0] >= 'a' && title[0] <= 'z' ? title[0] - 32 : title[0]);
    if (plot->script.picture == PICTURE_HTML)
        put_page(h, title, subtitle);
    else
        put_picture(h, layout, title, subtitle);
    free(title);
    free(subtitle);
}

static void write_data(const struct heatmap *h)
{
    const struct time_bins *b = &h->bins;
    struct table_column *columns = mem_zalloc(b->series + 1, sizeof *columns);
    struct table_cell *cells = mem_zalloc(b->series + 1, sizeof *cells);
    columns[0] = (struct table_column)TABLE_COLUMN("start", b->has_seconds ? "s" : "", false);
    for (size_t k = 0; k < b->series; k++)
        columns[k + 1] = (struct table_column)TABLE_COLUMN(b->names[k], h->unit, false);
    struct table_head head = {.columns = columns, .column_count = b->series + 1};
    struct table *table = table_open(&table_csv, h->plot->data, &head);
    for (size_t i = 0; i < b->count; i++) {
        cells[0] = cell_real(b->start + (double)i * b->width);
        for (size_t k = 0; k < b->series; k++)
            cells[k + 1] = cell_real(value_of(b, i, k));
        table_row(table, cells);
    }
    table_close(table);
    free(columns);
    free(cells);
}

/* Reads energy if the profile has it, unless time was requested. Returns 0, or -1 with ERR
 * filled. */
static int read_data(struct heatmap *h, const struct time_request *wanted, struct error *err)
{
    const struct plot_options *o = h->plot->options;
    struct time_request request = *wanted;
    request.energy = !o->metric_given || o->metric == METRIC_ENERGY || o->metric == METRIC_POWER;
    if (time_bins_read(&h->bins, h->plot, &request, err) != 0)
        return -1;
    bool none = h->bins.quantity.name == NULL || h->bins.series == 0;
    if (none && request.energy && o->metric_given) {
        error_set(err, o->input_count > 0 ? o->inputs[0] : "<stdin>", NO_OFFSET,
                  "cannot draw %s: the profile has no PMU values", row_metric_name(o->metric));
        time_bins_free(&h->bins);
        return -1;
    }
    h->metric = request.energy && !none ? METRIC_ENERGY : METRIC_TIME;
    if (!request.energy || !none)
        return 0;
    time_bins_free(&h->bins);
    request.energy = false;
    return time_bins_read(&h->bins, h->plot, &request, err);
}

static int check_rows(struct heatmap *h, struct error *err)
{
    if (h->bins.series > 0)
        return 0;
    time_bins_free(&h->bins);
    err->is_nothing = true;
    return error_set(err, NULL, NO_OFFSET, "nothing is selected: no thread used CPU time");
}

static int draw_heatmap(struct plot *plot, struct error *err)
{
    const struct script *s = &plot->script;
    bool cells = plot_is_text(plot);
    size_t top = plot->options->top;
    struct heatmap h = {.plot = plot};
    if (plot->options->metric_given && plot->options->metric == METRIC_SAMPLES)
        return error_set_usage(err, NULL, "heatmap draws time or energy, not samples");
    bool page = s->picture == PICTURE_HTML;
    struct rows_layout layout = {.count = page ? (top == 0              ? PAGE_ROWS
                                                  : top < MAX_PAGE_ROWS ? top + 1
                                                                        : MAX_PAGE_ROWS)
                                               : 0};
    if (!page)
        layout = frame_rows(plot, top > 0 ? top + 1 : 0, top > 0 ? top + 1 : 100);
    struct time_request request = {.kind = "heatmap",
                                   .bins = (size_t)(cells  ? s->width * 0.6 - 3
                                                    : page ? 400
                                                           : fmin(400, s->width / 3)),
                                   .series = layout.count > 1 ? layout.count - 1 : 1};
    if (read_data(&h, &request, err) != 0 || check_rows(&h, err) != 0)
        return -1;
    if (!page)
        layout = frame_rows(plot, h.bins.series, h.bins.series);
    h.name = h.metric == METRIC_ENERGY ? h.bins.quantity.rate_name : "CPUs used";
    h.unit = h.metric == METRIC_ENERGY ? h.bins.quantity.rate_unit : "";
    find_end(&h);
    draw(&h, &layout);
    if (plot->data != NULL)
        write_data(&h);
    time_bins_free(&h.bins);
    return 0;
}

const struct plot_kind plot_heatmap = {.name = "heatmap",
                                       .help = "the time or energy of each function over time",
                                       .draws_page = true,
                                       .over_time = true,
                                       .draw = draw_heatmap};
