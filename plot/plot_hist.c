/* hist: the distribution of the times of single calls: a row per function, on a common logarithmic
 * axis.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log_buckets.h"
#include "base/memory.h"
#include "plot/characters.h"
#include "plot/page.h"

enum { MAX_ROWS = 12 /* maximum without --top */, MAX_BINS = 240 };

static const double HEIGHT = 0.86; /* part of the height of a row that the highest bin has */

/* The marked quantiles. */
static const struct {
    const char *name;
    double share;
} marks[] = {{"median", 0.5}, {"p99", 0.99}};
enum { MARKS = sizeof marks / sizeof marks[0] };

/* A function with a distribution. */
struct hist_row {
    const struct ranked_row *from;
    uint64_t counts[LOG_BUCKETS];
    double calls;
    double mark[MARKS]; /* [unit] */
    double bin[MAX_BINS];
    char *note; /* "1234 calls, median 1.2 us, ..."; owned */
};

struct hist {
    struct plot *plot;
    struct aggregate *aggregate;
    struct ranking ranking;
    struct hist_row *rows;
    size_t count, hidden, measure;
    const char *unit; /* s, for histograms in ns */
    double scale;     /* the unit of the histogram in UNIT */
    double low, high; /* ends of the axis [unit] */
    size_t bins;      /* of equal widths in logarithms */
    double highest;   /* of all bins */
    bool brief;       /* notes only have the number of calls, for lack of room */
};

/* Finds the first histogram measure. Returns 0, or -1 with ERR filled. */
static int find_measure(struct hist *h, struct error *err)
{
    const struct measures *m = aggregate_measures(h->aggregate);
    while (h->measure < m->count && m->kind[h->measure].type != PBIN_HISTOGRAM)
        h->measure++;
    if (h->measure == m->count)
        return error_set(err, NULL, NO_OFFSET,
                         "the profile has no distributions: only profiles of funcmeter have them");
    const char *unit = aggregate_text(h->aggregate, m->kind[h->measure].unit);
    bool ns = strcmp(unit, "ns") == 0;
    h->unit = ns ? "s" : unit;
    h->scale = ns ? 1e-9 : 1;
    return 0;
}

/* Returns mark NUMBER of ROW, the quantile for SHARE. It is between the least and the greatest
 * time, as in tables. */
static double mark_of(const struct hist *h, const struct hist_row *row, size_t number, double share)
{
    double value = log_quantile(row->counts, share);
    static const char *const names[] = {"min", "max"};
    for (int i = 0; i < 2; i++) {
        int measure = aggregate_measure(h->aggregate, names[i]);
        const struct measure_cell *cell =
            measure < 0 ? NULL
                        : measures_get(aggregate_measures(h->aggregate), (size_t)measure, number);
        if (cell == NULL)
            continue;
        double limit = exact_to_double(cell->total.value, MEASURE_SHIFT, 1);
        value = i == 0 ? fmax(value, limit) : fmin(value, limit);
    }
    return value * h->scale;
}

static void take_row(struct hist *h, const struct ranked_row *from, const struct measure_cell *cell)
{
    struct hist_row *row = &h->rows[h->count++];
    row->from = from;
    for (size_t i = 0; i < cell->buckets; i++) {
        row->counts[cell->bucket[i].bucket] = cell->bucket[i].count;
        row->calls += (double)cell->bucket[i].count;
    }
    size_t number = (size_t)(from->row - aggregate_row(h->aggregate, 0));
    row->note = mem_printf("%.0f calls", row->calls);
    for (size_t i = 0; i < MARKS; i++) {
        row->mark[i] = mark_of(h, row, number, marks[i].share);
        char *value = text_value(row->mark[i], h->unit);
        mem_append(&row->note, ", %s %s", marks[i].name, value);
        free(value);
    }
}

/* Lists the largest rows that have a distribution, at most MOST. */
static void take_rows(struct hist *h, size_t most)
{
    h->rows = mem_zalloc(most + 1, sizeof *h->rows);
    for (size_t i = 0; i < h->ranking.count; i++) {
        const struct ranked_row *from = &h->ranking.rows[i];
        size_t number = (size_t)(from->row - aggregate_row(h->aggregate, 0));
        const struct measure_cell *cell =
            measures_get(aggregate_measures(h->aggregate), h->measure, number);
        if (cell == NULL || cell->buckets == 0)
            continue;
        if (h->count < most)
            take_row(h, from, cell);
        else
            h->hidden++;
    }
}

/* The ends of BUCKET [unit]. The first bucket starts at 0; on the logarithmic axis, it begins an
 * octave before its end. */
static double begin_of(const struct hist *h, uint32_t bucket)
{
    return (bucket == 0 ? log_bucket_begin(1) / 2 : log_bucket_begin(bucket)) * h->scale;
}

static double end_of(const struct hist *h, uint32_t bucket)
{
    return log_bucket_begin(bucket + 1) * h->scale;
}

/* Sets the axis to whole bins around all values. */
static void find_axis(struct hist *h)
{
    static const double PER_DECADE[] = {40, 30, 20, 10, 5};
    size_t k = 0;
    h->low = INFINITY;
    h->high = 0;
    for (size_t r = 0; r < h->count; r++)
        for (uint32_t i = 0; i < LOG_BUCKETS; i++)
            if (h->rows[r].counts[i] > 0) {
                h->low = fmin(h->low, begin_of(h, i));
                h->high = fmax(h->high, end_of(h, i));
            }
    double limit = plot_is_text(h->plot) ? 80 : MAX_BINS - 2;
    while (k + 1 < sizeof PER_DECADE / sizeof PER_DECADE[0] &&
           log10(h->high / h->low) * PER_DECADE[k] > limit)
        k++;
    double first = floor(log10(h->low) * PER_DECADE[k] - 0.5);
    double last = ceil(log10(h->high) * PER_DECADE[k] + 0.5);
    h->bins = (size_t)fmin(last - first, MAX_BINS);
    h->low = pow(10, first / PER_DECADE[k]);
    h->high = pow(10, (first + (double)h->bins) / PER_DECADE[k]);
}

/* Returns the position of VALUE on the axis [bins]. */
static double place(const struct hist *h, double value)
{
    return log(value / h->low) / log(h->high / h->low) * (double)h->bins;
}

static double edge(const struct hist *h, size_t bin)
{
    return h->low * pow(h->high / h->low, (double)bin / (double)h->bins);
}

/* Spreads buckets evenly over the bins that they overlap: buckets for times of a few ns are wider
 * than bins. */
static void fill_bins(const struct hist *h, struct hist_row *row)
{
    for (uint32_t i = 0; i < LOG_BUCKETS; i++) {
        if (row->counts[i] == 0)
            continue;
        double from = place(h, begin_of(h, i)), to = place(h, end_of(h, i));
        for (size_t b = (size_t)fmax(0, from); b < h->bins && (double)b < to; b++) {
            double part = fmin(to, (double)b + 1) - fmax(from, (double)b);
            row->bin[b] += (double)row->counts[i] * fmax(part, 0) / (to - from);
        }
    }
}

static double peak_of(const struct hist *h, const struct hist_row *row)
{
    double peak = 0;
    for (size_t b = 0; b < h->bins; b++)
        peak = fmax(peak, row->bin[b]);
    return h->plot->options->counts ? h->highest : peak;
}

/* ---- pictures ---- */

/* Draws the outline of ROW over its bins, with gaps where there are no calls. */
static void put_shape(const struct hist *h, const struct hist_row *row, double base)
{
    struct script *s = &h->plot->script;
    double unit = HEIGHT / peak_of(h, row);
    for (size_t b = 0; b < h->bins; b++) {
        for (size_t side = 0; side < 2 && row->bin[b] > 0; side++) {
            script_number(s, edge(h, b + side));
            script_number(s, base - row->bin[b] * unit);
            script_number(s, base);
            script_row_end_name(s, row->from->name);
        }
        if (row->bin[b] > 0 && (b + 1 == h->bins || row->bin[b + 1] <= 0))
            script_add(s, "\n");
    }
}

static void put_data(const struct hist *h)
{
    struct script *s = &h->plot->script;
    script_add(s, "# outline of the calls in each bin: time [%s], row, its base; name\n",
               h->scale != 1 ? "s" : "1");
    script_data(s, "$shapes");
    for (size_t r = 0; r < h->count; r++)
        put_shape(h, &h->rows[r], (double)r + 0.45);
    script_data_end(s);
    script_data(s, "$marks");
    for (size_t r = 0; r < h->count; r++) {
        for (size_t i = 0; i < MARKS; i++) {
            script_number(s, h->rows[r].mark[i]);
            script_number(s, (double)r + 0.45);
            script_number(s, (double)i);
            script_row_end(s);
        }
    }
    script_data_end(s);
}

/* Returns a label without decimals, such as "100 ns". Caller frees. */
static char *tic_text(const struct hist *h, double at)
{
    struct scale scale = scale_for(at * 1.0001, h->unit);
    return mem_printf("%.4g %s", at / scale.factor, scale.unit);
}

/* Draws tics at 1, 10, 100 ns, ...: every third decade, every decade, or also at 2 and 5; with
 * small tics between them. */
static void put_tics(const struct hist *h, const struct frame *frame)
{
    struct script *s = &h->plot->script;
    double decades = log10(h->high / h->low), label = plot_is_text(h->plot) ? 8 : 4;
    double room = (frame->right - frame->left) / (decades * s->em * label); /* labels per decade */
    int step = room < 1 ? 3 : 1;
    const char *separator = "";
    script_add(s, "set logscale x\nset xtics nomirror (");
    for (int decade = (int)floor(log10(h->low)); decade <= (int)ceil(log10(h->high)); decade++)
        for (int digit = 1; digit <= 9; digit++) {
            double at = digit * pow(10, decade);
            bool named = digit == 1 ? decade % step == 0 : room > 4 && (digit == 2 || digit == 5);
            if (at < h->low || at > h->high || (!named && digit > 1 && step > 1))
                continue;
            char *text = named ? tic_text(h, at) : mem_strdup("");
            script_add(s, "%s", separator);
            script_quote(s, text);
            script_add(s, " %.9g %d", at, !named);
            separator = ", ";
            free(text);
        }
    script_add(s, ")\n");
}

/* The heights of bins in text pictures. */
static const char LEVELS[] = " .:-=+*#%@";

static void put_text_rows(const struct hist *h, const struct frame *frame)
{
    struct characters line;
    characters_begin(&line, frame, 0, (double)h->bins);
    for (size_t r = 0; r < h->count; r++) {
        const struct hist_row *row = &h->rows[r];
        double peak = peak_of(h, row);
        for (size_t b = 0; b < h->bins; b++) {
            double level = row->bin[b] / peak * (double)(sizeof LEVELS - 2);
            if (row->bin[b] > 0)
                characters_fill(&line, (double)b, (double)b + 1,
                                LEVELS[(size_t)fmax(1, ceil(level))]);
        }
        characters_put(&line, place(h, row->mark[0]), '|');
        characters_put(&line, place(h, row->mark[1]), '>');
        characters_draw(&line, h->plot, frame, r);
    }
    characters_free(&line);
    script_add(&h->plot->script, "unset grid\nplot NaN\n");
}

static void put_rows(const struct hist *h)
{
    struct script *s = &h->plot->script;
    frame_row_axes(h->plot);
    script_add(s,
               "plot $shapes using 1:3:2 with filledcurves lc rgb '%s', $marks using "
               "1:2:(0):($3==0?-%g:1/0) with vectors nohead lw 1.4 lc rgb '%s', $marks using "
               "1:2:(0):($3==1?-%g:1/0) with vectors nohead lw 1.4 lc rgb '%s'\n",
               s->theme->bar, HEIGHT, s->theme->text, HEIGHT, s->theme->more);
}

/* Returns the note of ROW, at the right. Caller frees. */
static char *note_of(const struct hist *h, const struct hist_row *row)
{
    size_t length = h->brief ? strcspn(row->note, ",") : strlen(row->note);
    return mem_strndup(row->note, length);
}

static double notes_width(const struct hist *h, double size)
{
    double widest = 0;
    for (size_t r = 0; r < h->count; r++) {
        char *note = note_of(h, &h->rows[r]);
        widest = fmax(widest, text_width(note, plot_is_text(h->plot)));
        free(note);
    }
    return (widest * (plot_is_text(h->plot) ? 1 : HINTING) + 1) * size;
}

static void put_notes(const struct hist *h, const struct frame *frame, double size,
                      const struct rows_layout *layout)
{
    bool cells = plot_is_text(h->plot);
    for (size_t r = 0; r < h->count; r++) {
        double y = cells ? frame->top + (double)r : frame->top + ((double)r + 0.5) * layout->height;
        char *note = note_of(h, &h->rows[r]);
        frame_text(h->plot, frame->right + (cells ? 2 : 0.6 * size), y, ANCHOR_LEFT,
                   h->plot->script.theme->faint, size, note);
        free(note);
    }
}

static char *subtitle_of(const struct hist *h)
{
    char *text = frame_subtitle_of(h->plot, h->aggregate);
    if (h->plot->options->counts)
        mem_append(&text, " \xc2\xb7 heights: calls in a bin, at most %.0f", h->highest);
    else
        mem_append(&text, " \xc2\xb7 heights: share of the row's calls in a bin");
    if (h->hidden > 0)
        mem_append(&text, " \xc2\xb7 %zu smaller rows not drawn", h->hidden);
    return text;
}

static void draw(struct hist *h, const struct rows_layout *layout)
{
    struct plot *plot = h->plot;
    struct scale plain = {.factor = 1};
    char **names = mem_zalloc(h->count + 1, sizeof *names);
    char *subtitle = subtitle_of(h);
    double size = plot_is_text(plot) ? 1 : 0.85 * layout->size;
    struct frame frame =
        frame_begin(plot,
                    plot_is_text(plot) ? "Times of single calls, with median | and p99 >"
                                       : "Times of single calls, with median and p99",
                    subtitle);
    for (size_t i = 0; i < h->count; i++)
        names[i] = h->rows[i].from->name;
    frame_names(plot, &frame, layout, names, h->count);
    h->brief = notes_width(h, size) > 0.45 * (frame.right - frame.left);
    frame.right -= notes_width(h, size);
    frame_margins(plot, &frame);
    frame_xaxis(plot, &frame, h->low, h->high, &plain, "time of a call");
    put_tics(h, &frame);
    put_data(h);
    put_notes(h, &frame, size, layout);
    if (plot_is_text(plot))
        put_text_rows(h, &frame);
    else
        put_rows(h);
    free(names);
    free(subtitle);
}

/* ---- pages and tables ---- */

static void put_page(struct hist *h)
{
    struct plot *plot = h->plot;
    char *subtitle = subtitle_of(h);
    page_begin(plot, "hist", "Times of single calls", subtitle);
    page_put_text(plot, "unit", h->unit);
    page_put_open(plot, "edges", '[');
    for (size_t b = 0; b <= h->bins; b++)
        page_number(plot, edge(h, b));
    page_close(plot, ']');
    page_put_open(plot, "rows", '[');
    for (size_t r = 0; r < h->count; r++) {
        const struct hist_row *row = &h->rows[r];
        page_open(plot, '{');
        page_put_name(plot, row->from->name);
        page_put_text(plot, "note", row->note);
        page_put_number(plot, "calls", row->calls);
        page_put_number(plot, "median", row->mark[0]);
        page_put_number(plot, "p99", row->mark[1]);
        page_put_open(plot, "values", '[');
        for (size_t b = 0; b < h->bins; b++)
            page_number(plot, row->bin[b]);
        page_close(plot, ']');
        page_close(plot, '}');
    }
    page_close(plot, ']');
    free(subtitle);
}

/* Writes a row for each bucket that has calls. */
static void put_table(const struct hist *h)
{
    const struct table_column columns[] = {
        TABLE_COLUMN("name", "", true), TABLE_COLUMN("from", h->unit, false),
        TABLE_COLUMN("to", h->unit, false), TABLE_COLUMN("calls", "", false)};
    const struct table_head head = {.columns = columns, .column_count = 4};
    struct table *table = table_open(&table_csv, h->plot->data, &head);
    for (size_t r = 0; r < h->count; r++)
        for (uint32_t i = 0; i < LOG_BUCKETS; i++)
            if (h->rows[r].counts[i] > 0)
                table_row(table, (struct table_cell[]){cell_text(h->rows[r].from->name),
                                                       cell_real(log_bucket_begin(i) * h->scale),
                                                       cell_real(end_of(h, i)),
                                                       cell_count(h->rows[r].counts[i])});
    table_close(table);
}

/* Lays out the rows, which are higher than in other pictures, because they contain shapes. */
static struct rows_layout lay_out(struct hist *h)
{
    struct script *s = &h->plot->script;
    if (!h->plot->options->height_given && !plot_is_text(h->plot))
        s->height = fmax(s->height, (8 + 3 * (double)h->count) * s->em);
    return frame_rows(h->plot, h->count, h->count);
}

static void show(struct hist *h)
{
    bool page = h->plot->script.picture == PICTURE_HTML;
    struct rows_layout layout = {.count = h->count};
    if (!page)
        layout = lay_out(h);
    if (layout.count < h->count) {
        h->hidden += h->count - layout.count;
        for (size_t r = layout.count; r < h->count; r++)
            free(h->rows[r].note);
        h->count = layout.count;
    }
    find_axis(h);
    for (size_t r = 0; r < h->count; r++)
        fill_bins(h, &h->rows[r]);
    for (size_t r = 0; r < h->count; r++)
        for (size_t b = 0; b < h->bins; b++)
            h->highest = fmax(h->highest, h->rows[r].bin[b]);
    if (page)
        put_page(h);
    else
        draw(h, &layout);
    if (h->plot->data != NULL)
        put_table(h);
}

static int draw_hist(struct plot *plot, struct error *err)
{
    const struct plot_options *o = plot->options;
    struct hist h = {.plot = plot};
    enum row_metric metric;
    h.aggregate = ranking_read(plot, o->inputs, o->input_count, err);
    int result = h.aggregate == NULL ? -1 : find_measure(&h, err);
    if (result == 0)
        result = ranking_metric_of(plot, h.aggregate, &metric, err);
    if (result == 0) {
        ranking_make(&h.ranking, h.aggregate, metric, 0);
        take_rows(&h, o->top > 0 ? o->top : MAX_ROWS);
        result = ranking_check(&h.ranking, err);
        if (result == 0 && h.count == 0)
            result = error_set(err, NULL, NO_OFFSET, "no call has returned: no times to draw");
        if (result == 0)
            show(&h);
        for (size_t r = 0; r < h.count; r++)
            free(h.rows[r].note);
        free(h.rows);
        ranking_free(&h.ranking);
    }
    aggregate_delete(h.aggregate);
    return result;
}

const struct plot_kind plot_hist = {.name = "hist",
                                    .help = "the distribution of the times of single calls",
                                    .draws_page = true,
                                    .calls = true,
                                    .draw = draw_hist};
