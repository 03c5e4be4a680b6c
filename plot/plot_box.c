/* box and violin: the distribution of a metric of each function over repeated runs, or of the errors of all functions
 * between sides.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/characters.h"
#include "plot/errors.h"

enum {
    MIN_CURVE = 64, /* points along a violin */
    MAX_CURVE = 1000,
    MAX_DOTTED_RUNS = 20, /* the dots of more runs would hide the boxes */
    MAX_ROWS = 20         /* maximum without --top */
};

static const double MIN_PART =
    0.01;                         /* part of the largest row of code; smaller rows are lines at 0 */
static const double NARROW = 0.5; /* used if an axis from 0 would waste this part of its length */

struct spreads {
    struct plot *plot;
    const struct errors *errors; /* of functions between sides; NULL: values of runs */
    struct spread *rows;
    size_t count, runs, all; /* ALL rows of the profiles, of which COUNT are drawn */
    bool small;              /* the omitted rows are below MIN_PART */
    enum points points;      /* not POINTS_AUTO */
    size_t dots;             /* number of drawn dots */
    enum row_metric metric;
    const char *metric_name, *unit;
    struct pbin_meta meta;
    struct rows_layout layout;
};

static const struct pbin_row *find_row(const struct aggregate *a, const struct aggregate *whole,
                                       const struct pbin_row *row)
{
    size_t keys = aggregate_keys(a)->count;
    for (size_t i = 0; i < aggregate_row_count(a); i++) {
        const struct pbin_row *other = aggregate_row(a, i);
        size_t k = 0;
        for (; k < keys; k++) {
            bool text = pbin_key_get((size_t)aggregate_keys(a)->key[k])->is_text;
            if (text ? strcmp(aggregate_text(a, other->key[k]),
                              aggregate_text(whole, row->key[k])) != 0
                     : other->key[k] != row->key[k])
                break;
        }
        if (k == keys)
            return other;
    }
    return NULL;
}

/* Reads run number RUN alone, for the values of its displayed rows. Returns 0, or -1 with ERR
 * filled. */
static int take_run(struct spreads *s, const struct aggregate *whole, const struct ranking *r,
                    size_t run, struct error *err)
{
    const struct plot_options *o = s->plot->options;
    const struct pbin_keys *keys = aggregate_keys(whole);
    struct aggregate *a = ranking_read_keys(s->plot, &o->inputs[run], 1, keys, err);
    if (a == NULL)
        return -1;
    int result = 0;
    if (aggregate_run_count(a) != 1)
        result = error_set(err, o->inputs[run], NO_OFFSET,
                           "contains only the sum of %zu runs, expected profiles of single runs",
                           aggregate_run_count(a));
    for (size_t i = 0; i < s->count && result == 0; i++) {
        const struct pbin_row *row = find_row(a, whole, r->rows[i].row);
        struct row_values values = {.power = NAN};
        if (row != NULL)
            row_values_of(&row->sums, 1, &values);
        s->rows[i].values[run] = (struct spread_value){row_value(&values, s->metric), 1};
    }
    aggregate_delete(a);
    return result;
}

static int take_runs(struct spreads *s, const struct aggregate *whole, const struct ranking *r,
                     struct error *err)
{
    s->rows = mem_zalloc(s->count + 1, sizeof *s->rows);
    for (size_t i = 0; i < s->count; i++) {
        s->rows[i].name = mem_strdup(r->rows[i].name);
        s->rows[i].beyond = r->rows[i].value > ranking_limit(r);
        s->rows[i].values = mem_zalloc(s->runs, sizeof *s->rows[i].values);
        s->rows[i].count = s->runs;
    }
    for (size_t run = 0; run < s->runs; run++)
        if (take_run(s, whole, r, run, err) != 0)
            return -1;
    return 0;
}

static void write_data(const struct spreads *s)
{
    struct table_column columns[] = {TABLE_COLUMN("name", "", true), TABLE_COLUMN("run", "", false),
                                     TABLE_COLUMN(s->metric_name, s->unit, false)};
    struct table_head head = {.columns = columns, .column_count = 3};
    struct table *table = table_open(&table_csv, s->plot->data, &head);
    for (size_t i = 0; i < s->count; i++)
        for (size_t run = 0; run < s->runs; run++) {
            struct table_cell cells[] = {cell_text(s->rows[i].name), cell_count(run + 1),
                                         cell_real(s->rows[i].values[run].value)};
            table_row(table, cells);
        }
    table_close(table);
}

static bool is_drawn(const struct spreads *s, const struct box *box, double value)
{
    return s->points == POINTS_ALL ||
           (s->points == POINTS_OUTLIERS && (value < box->low || value > box->high));
}

/* Writes the values to draw, spread slightly over the height of their row; the golden ratio spaces
 * neighbours evenly. */
static void put_points(struct spreads *s)
{
    struct script *script = &s->plot->script;
    script_add(script, "# row, %s of a %s [%s], position in the row\n", s->metric_name,
               s->errors != NULL ? "row" : "run", s->unit);
    script_data(script, "$points");
    for (size_t i = 0; i < s->count; i++) {
        const struct spread *row = &s->rows[i];
        struct box box = spread_box(row);
        for (size_t n = 0; n < row->count && !row->beyond; n++) {
            if (!is_drawn(s, &box, row->values[n].value))
                continue;
            script_number(script, (double)i);
            script_number(script, row->values[n].value);
            script_number(script, fmod((double)n * 0.6180339887, 1) - 0.5);
            script_row_end(script);
            s->dots++;
        }
    }
    script_data_end(script);
}

struct extent {
    double low, high;
};

static void put_boxes(struct spreads *s, struct extent axis)
{
    struct script *script = &s->plot->script;
    script_add(script,
               "# row, lower whisker, quartile, median, quartile, upper whisker, mean, name\n");
    script_data(script, "$boxes");
    for (size_t i = 0; i < s->count; i++) {
        if (s->rows[i].beyond)
            continue;
        struct box b = spread_box(&s->rows[i]);
        const double numbers[] = {(double)i, fmax(b.low, axis.low),   b.q1,           b.median,
                                  b.q3,      fmin(b.high, axis.high), s->rows[i].mean};
        for (size_t n = 0; n < 7; n++)
            script_number(script, numbers[n]);
        script_row_end_name(script, s->rows[i].name);
    }
    script_data_end(script);
}

/* Writes the outline of the violin of row number I: value, lower and upper edge. All violins have
 * the same maximum thickness. */
static void put_violin(struct spreads *s, size_t i, double largest, struct extent axis)
{
    struct script *script = &s->plot->script;
    const struct spread *row = &s->rows[i];
    double width = spread_bandwidth(row, largest), most = 0, curve[MAX_CURVE + 1];
    double first = row->values[0].value, last = row->values[row->count - 1].value;
    double from = fmax(axis.low, fmax(row->least, first - spread_reach * width));
    double to = fmin(last < 0 ? 0 : axis.high, last + spread_reach * width);
    size_t points = MIN_CURVE;
    while (points < MAX_CURVE && (double)points * width < 4 * (to - from))
        points++;
    for (size_t p = 0; p <= points; p++) {
        curve[p] = spread_density(row, from + (to - from) * (double)p / (double)points, width);
        most = fmax(most, curve[p]);
    }
    for (size_t p = 0; p <= points; p++) {
        double half = most > 0 ? 0.42 * curve[p] / most : 0;
        script_number(script, from + (to - from) * (double)p / (double)points);
        script_number(script, (double)i - half);
        script_number(script, (double)i + half);
        script_row_end(script);
    }
    script_add(script, "\n");
}

static void put_violins(struct spreads *s, double largest, struct extent axis)
{
    script_data(&s->plot->script, "$violins");
    for (size_t i = 0; i < s->count; i++)
        if (!s->rows[i].beyond)
            put_violin(s, i, largest, axis);
    script_data_end(&s->plot->script);
}

/* Returns the largest absolute value on the axis. */
static double largest_value(const struct spreads *s)
{
    double most = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct spread *row = &s->rows[i];
        if (!row->beyond && row->count > 0)
            most = fmax(most, fmax(-row->low, row->high));
    }
    return most;
}

/* Returns an axis that begins just before 0, so that dots at 0 are clear of the names. If all
 * values are large, and not errors, it begins just below the smallest. Violins extend beyond their
 * values, but not across 0 or below errors of -100 %. */
static struct extent axis_of(const struct spreads *s, bool violin, double most)
{
    double least = INFINITY, low = INFINITY, top = -INFINITY, high = -INFINITY;
    for (size_t i = 0; i < s->count; i++) {
        const struct spread *row = &s->rows[i];
        if (row->beyond || row->count == 0)
            continue;
        double reach = violin ? spread_reach * spread_bandwidth(row, most) : 0;
        double mean = s->plot->options->means ? row->mean : row->low; /* for runs, it is within */
        least = fmin(least, fmin(mean, row->low));
        low = fmin(low, fmin(mean, fmax(row->least, row->low - reach)));
        top = fmax(top, fmax(mean, row->high));
        high = fmax(high, fmax(mean, row->high + reach));
    }
    if (!(most > 0))
        return (struct extent){-0.02, 1};
    double margin = 0.05 * fmax(high - low, 0.02 * most);
    if (low - margin > NARROW * high && s->errors == NULL)
        return (struct extent){low - margin, high + margin};
    high = fmax(fmax(high, 1.05 * top), 0.02 * most);
    return (struct extent){least < 0 ? low - margin : -0.02 * high, high};
}

/* Shows values beyond the axis as numbers. */
static void put_beyond(struct spreads *s, const struct frame *frame)
{
    bool cells = plot_is_text(s->plot);
    struct script *script = &s->plot->script;
    for (size_t i = 0; i < s->count; i++) {
        const struct spread *row = &s->rows[i];
        if (!row->beyond)
            continue;
        char *median = text_value(spread_quantile(row, 0.5), s->unit);
        char *low = text_value(row->low, s->unit);
        char *high = text_value(row->high, s->unit);
        char *text = mem_printf("median %s, runs %s to %s %s", median, low, high,
                                cells ? ">>" : "\xe2\x86\x92");
        double y = frame->top + ((double)i + 0.5) * (frame->bottom - frame->top) / (double)s->count;
        if (cells)
            frame_text(s->plot, frame->right, frame->top + (double)i, ANCHOR_RIGHT,
                       script->theme->text, 1, text);
        else
            frame_text(s->plot, frame->right, y, ANCHOR_RIGHT, script->theme->text,
                       0.9 * s->layout.size, text);
        free(median);
        free(low);
        free(high);
        free(text);
    }
}

/* Shows the density as characters. */
static void put_shades(const struct spread *spread, struct characters *row, struct extent axis)
{
    static const char shades[] = " .:-=+*#";
    double width = spread_bandwidth(spread, axis.high), most = 0;
    for (size_t n = 0; n < spread->count; n++)
        most = fmax(most, spread_density(spread, spread->values[n].value, width));
    for (size_t cell = 0; cell < row->count; cell++) {
        double at = axis.low + (axis.high - axis.low) * (double)cell / (double)(row->count - 1);
        double part = most > 0 ? spread_density(spread, at, width) / most : 0;
        row->cells[cell] = shades[(int)fmin(7, 7.99 * part)];
    }
}

/* Draws |--[==|==]--| for a box, or shades of the density for a violin. The values are sorted. */
static void put_characters(struct spreads *s, bool violin, const struct frame *frame,
                           struct extent axis)
{
    struct characters row;
    characters_begin(&row, frame, axis.low, axis.high);
    for (size_t i = 0; i < s->count; i++) {
        const struct spread *spread = &s->rows[i];
        if (spread->beyond)
            continue;
        struct box box = spread_box(spread);
        if (violin)
            put_shades(spread, &row, axis);
        for (size_t n = 0; n < spread->count && !violin; n++)
            if (is_drawn(s, &box, spread->values[n].value))
                characters_put(&row, spread->values[n].value, '.');
        if (!violin) {
            characters_fill(&row, box.low, box.high, '-');
            characters_fill(&row, box.q1, box.q3, '=');
        }
        if (!violin || s->plot->options->boxes) {
            characters_put(&row, box.q1, '[');
            characters_put(&row, box.q3, ']');
        }
        if (s->plot->options->means)
            characters_put(&row, spread->mean, 'm');
        characters_put(&row, box.median, '|');
        characters_draw(&row, s->plot, frame, i);
    }
    characters_free(&row);
    script_add(&s->plot->script, "unset grid\nset border 1\nplot NaN\n");
}

/* Draws whiskers and the box of the middle half, which extends by HALF of a row to either side. */
static void put_box_plot(struct script *script, double f, double half)
{
    const struct theme *t = script->theme;
    script_add(script,
               "$boxes using ($2/%g):1:(($3-$2)/%g):(0) with vectors nohead lw 1.2 lc rgb '%s', "
               "$boxes using ($5/%g):1:(($6-$5)/%g):(0) with vectors nohead lw 1.2 lc rgb '%s', "
               "$boxes using ($3/%g):1:($3/%g):($5/%g):($1-%g):($1+%g) with boxxyerror fc rgb '%s' "
               "fs transparent solid 0.45 noborder, ",
               f, f, t->faint, f, f, t->faint, f, f, f, half, half, t->bar);
}

static void put_plot(struct spreads *s, bool violin, const struct scale *scale)
{
    struct script *script = &s->plot->script;
    const struct theme *t = script->theme;
    double f = scale->factor, half = fmin(0.3, 1.1 * script->em / s->layout.height);
    double line = violin ? 1.35 * half : half; /* a dot at its end would look like an arrow head */
    bool many = s->points == POINTS_ALL && s->runs > MAX_DOTTED_RUNS;
    frame_row_axes(s->plot);
    if (s->errors != NULL)
        script_add(script,
                   "set arrow from first 0, graph 0 to first 0, graph 1 nohead lc rgb '%s'\n",
                   t->faint);
    script_add(script, "plot ");
    if (violin)
        script_add(script,
                   "$violins using ($1/%g):2:3 with filledcurves fc rgb '%s' fs transparent "
                   "solid 0.45 noborder, ",
                   f, t->bar);
    if (!violin || s->plot->options->boxes)
        put_box_plot(script, f, violin ? 0.5 * half : half);
    if (s->dots > 0)
        script_add(script,
                   "$points using ($2/%g):($1+$3*%g) with points pt 7 ps %g*dot lc rgb '#%s%s', ",
                   f, half * 1.4, many ? 0.3 : 0.45, many ? "90" : "00", t->text + 1);
    if (s->plot->options->means)
        script_add(
            script,
            "$boxes using ($7/%g):($1-%g):(0):(%g) with vectors nohead lw 1.6 dt (2,2) lc rgb "
            "'%s', ",
            f, line, 2 * line, t->text);
    script_add(script,
               "$boxes using ($4/%g):($1-%g):(0):(%g) with vectors nohead lw 2.2 lc rgb '%s'\n", f,
               line, 2 * line, t->more);
}

static bool is_cut(const struct spreads *s, struct extent axis)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct spread *row = &s->rows[i];
        if (!row->beyond && row->count > 0 &&
            (row->values[0].value < axis.low || row->values[row->count - 1].value > axis.high))
            return true;
    }
    return false;
}

/* Describes the drawn rows, if not all are drawn. Caller frees. */
static char *rows_text(const struct spreads *s)
{
    if (s->errors != NULL)
        return errors_legend(s->errors);
    if (s->count == s->all)
        return mem_strdup("");
    if (!s->small)
        return mem_printf("%zu of %zu rows \xc2\xb7 ", s->count, s->all);
    return mem_printf("%zu row%s below %g %% of the largest not drawn \xc2\xb7 ", s->all - s->count,
                      s->all - s->count == 1 ? "" : "s", 100 * MIN_PART);
}

/* Describes the drawn elements, and what is not drawn. Caller frees. */
static char *legend_of(const struct spreads *s, bool violin, struct extent axis)
{
    bool cells = plot_is_text(s->plot), boxes = !violin || s->plot->options->boxes;
    const char *points = s->points == POINTS_NONE || (cells && violin) ? ""
                         : s->points != POINTS_ALL                     ? ", dots: outliers"
                         : s->errors != NULL                           ? ", dots: rows"
                                                                       : ", dots: runs";
    const char *box = !boxes ? "" : cells ? ", []: middle half" : ", box: middle half";
    const char *mean = !s->plot->options->means ? "" : cells ? ", m: mean" : ", dashed: mean";
    char *rows = rows_text(s);
    char *text = mem_printf("%s%s%s%s%s%s", axis.low > 0 ? "axis not from 0 \xc2\xb7 " : "", rows,
                            cells ? "|: median" : "line: median", box, mean, points);
    if (is_cut(s, axis))
        mem_append(&text, ", ends of %g %% cut off", 100 * spread_tail);
    free(rows);
    return text;
}

/* Describes the plot and its files. Caller frees. */
static char *subtitle_of(const struct spreads *s, bool violin, struct extent axis)
{
    bool cells = plot_is_text(s->plot);
    char *legend = legend_of(s, violin, axis);
    double room = frame_subtitle_room(s->plot) - text_width(legend, cells) - 3;
    char *what = s->errors != NULL ? run_sets_subtitle(&s->errors->sets, room, cells)
                                   : frame_subtitle(s->plot, &s->meta, s->runs);
    mem_append(&what, " \xc2\xb7 %s", legend);
    free(legend);
    return what;
}

static void draw(struct spreads *s, bool violin)
{
    struct plot *plot = s->plot;
    double most = largest_value(s);
    struct scale scale = scale_for(most, s->unit);
    char **names = mem_zalloc(s->count + 1, sizeof *names);
    struct extent axis = axis_of(s, violin, most);
    char *subtitle = subtitle_of(s, violin, axis);
    char *title = mem_printf("%s%s", s->metric_name, s->errors != NULL ? "" : " per run");
    title[0] = (char)(title[0] >= 'a' && title[0] <= 'z' ? title[0] - 32 : title[0]);
    for (size_t i = 0; i < s->count; i++)
        names[i] = s->rows[i].name;
    struct frame frame = frame_begin(plot, title, subtitle);
    frame_names(plot, &frame, &s->layout, names, s->count);
    frame_margins(plot, &frame);
    put_points(s);
    put_boxes(s, axis);
    if (plot_is_text(plot) && axis.low >= -0.02 * axis.high)
        axis.low = fmax(axis.low, 0);
    put_beyond(s, &frame);
    frame_xaxis(plot, &frame, axis.low, axis.high, &scale, s->metric_name);
    if (violin)
        put_violins(s, most, axis);
    if (plot_is_text(plot))
        put_characters(s, violin, &frame, axis);
    else
        put_plot(s, violin, &scale);
    free(names);
    free(title);
    free(subtitle);
}

/* Returns the number of rows worth drawing: those with a value that, unless ALL are wanted, is not
 * much smaller than the largest of code, whose spread would otherwise be squeezed to make room for
 * lines at 0. */
static size_t count_rows(const struct ranking *r, bool all)
{
    double most = 0;
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        if (!isnan(r->rows[i].value) && (!r->rows[i].other || isinf(ranking_limit(r))))
            most = fmax(most, fabs(r->rows[i].value));
    for (size_t i = 0; i < r->count; i++)
        if (all ? !isnan(r->rows[i].value) : fabs(r->rows[i].value) >= MIN_PART * most)
            count = i + 1;
    return count > 0 ? count : 1;
}

static int prepare(struct spreads *s, const struct aggregate *whole, struct error *err)
{
    const struct plot_options *o = s->plot->options;
    struct ranking ranking;
    if (ranking_metric_of(s->plot, whole, &s->metric, err) != 0)
        return -1;
    ranking_make(&ranking, whole, s->metric, 0);
    if (ranking_check(&ranking, err) != 0) {
        ranking_free(&ranking);
        return -1;
    }
    size_t rows = count_rows(&ranking, o->top > 0), wanted = o->top < rows ? o->top : rows;
    size_t most = o->top > 0 ? wanted : MAX_ROWS;
    s->all = ranking.count;
    s->layout = frame_rows(s->plot, o->top > 0 ? wanted : 0, rows < most ? rows : most);
    s->count = rows < s->layout.count ? rows : s->layout.count;
    s->small = o->top == 0 && s->count == rows;
    s->points = o->points != POINTS_AUTO    ? o->points
                : s->runs > MAX_DOTTED_RUNS ? POINTS_OUTLIERS
                                            : POINTS_ALL;
    s->metric_name = ranking_metric_name(aggregate_quantity(whole), s->metric);
    s->unit = ranking_metric_unit(aggregate_quantity(whole), s->metric);
    pbin_meta_copy(&s->meta, aggregate_meta(whole));
    int result = take_runs(s, whole, &ranking, err);
    ranking_free(&ranking);
    return result;
}

static int compare_means(const void *left, const void *right)
{
    double a = ((const struct spread *)left)->mean, b = ((const struct spread *)right)->mean;
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare_means_down(const void *left, const void *right)
{
    double a = ((const struct spread *)left)->mean, b = ((const struct spread *)right)->mean;
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a < b) - (a > b);
}

static void sort_rows(struct spreads *s)
{
    enum order order = s->plot->options->order;
    if (order != ORDER_LARGEST && s->count > 0)
        qsort(s->rows, s->count, sizeof *s->rows,
              order == ORDER_ASCENDING ? compare_means : compare_means_down);
}

static int draw_errors(struct plot *plot, bool violin, struct error *err)
{
    struct errors errors;
    int result = errors_read(&errors, plot, err);
    if (result == 0) {
        struct spreads s = {.plot = plot,
                            .errors = &errors,
                            .rows = errors.rows,
                            .points = plot->options->points,
                            .metric_name = errors.name,
                            .unit = errors.unit};
        s.layout = frame_rows(plot, errors.count, errors.count);
        s.count = s.all = s.layout.count;
        if (s.points == POINTS_AUTO)
            s.points = violin ? POINTS_NONE : POINTS_OUTLIERS;
        if (plot->data != NULL)
            run_sets_write(&errors.sets, plot->data);
        sort_rows(&s);
        draw(&s, violin);
    }
    errors_free(&errors);
    return result;
}

static int draw_spreads(struct plot *plot, bool violin, struct error *err)
{
    const struct plot_options *o = plot->options;
    if (o->has_error)
        return draw_errors(plot, violin, err);
    struct spreads s = {.plot = plot, .runs = o->input_count};
    if (o->input_count < 2)
        return error_set_usage(err, NULL, "a distribution needs several runs, given as PBIN files");
    struct aggregate *whole = ranking_read(plot, o->inputs, o->input_count, err);
    int result = whole == NULL ? -1 : prepare(&s, whole, err);
    if (result == 0) {
        if (plot->data != NULL)
            write_data(&s);
        for (size_t i = 0; i < s.count; i++)
            spread_sort(&s.rows[i]);
        sort_rows(&s);
        draw(&s, violin);
    }
    for (size_t i = 0; i < s.count; i++)
        spread_free(&s.rows[i]);
    free(s.rows);
    pbin_meta_free(&s.meta);
    aggregate_delete(whole);
    return result;
}

static int draw_box(struct plot *plot, struct error *err)
{
    return draw_spreads(plot, false, err);
}

static int draw_violin(struct plot *plot, struct error *err)
{
    return draw_spreads(plot, true, err);
}

const struct plot_kind plot_box = {.name = "box",
                                   .help =
                                       "a metric over repeated runs: quartiles and individual runs",
                                   .spreads = true,
                                   .draw = draw_box};
const struct plot_kind plot_violin = {.name = "violin",
                                      .help = "the same as densities, for 50 or more runs",
                                      .spreads = true,
                                      .draw = draw_violin};
