/* A profile over time, in two passes with bounded memory: the first one finds the duration, the
 * largest rows and the threads.
 * SPDX-License-Identifier: MIT */
#include "plot/time_bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/keys.h"
#include "base/memory.h"
#include "base/ranked.h"
#include "plot/names.h"
#include "plot/scan.h"

#define NOWHERE UINT32_MAX

struct reading {
    const struct time_request *request;
    struct time_bins *bins;
    size_t interpolate;
    double start, end; /* window [s] */
    double duration;
    struct pbin_keys keys;
    struct rowset rows;
    struct key_map map;
    double *row_total, *thread_total; /* [by row], [by thread of the profile] */
    size_t row_capacity, thread_capacity, row_count, thread_count;
    uint32_t label[SCANNED_LABELS]; /* rows, or NO_ROW */
    uint32_t *series;               /* [by row] */
    uint32_t *lane;                 /* [by thread] */
    size_t samples;
};

static void grow(double **array, size_t *count, size_t *capacity, size_t need)
{
    if (need <= *count)
        return;
    mem_reserve(array, capacity, need, sizeof **array);
    memset(*array + *count, 0, (need - *count) * sizeof **array);
    *count = need;
}

static double overlap(double begin, double end, double low, double high)
{
    double from = begin > low ? begin : low, to = end < high ? end : high;
    if (end <= begin)
        return begin >= low && begin <= high ? 1 : 0;
    return to > from ? (to - from) / (end - begin) : 0;
}

static void add_total(struct reading *r, uint32_t row, double amount)
{
    grow(&r->row_total, &r->row_count, &r->row_capacity, r->rows.count);
    r->row_total[row] += amount;
}

static uint32_t label_row(struct reading *r, size_t label)
{
    static const char *const names[] = {LABEL_IDLE, LABEL_OTHERS};
    if (r->label[label] == NO_ROW)
        r->label[label] = rowset_find_label(&r->rows, names[label]);
    return r->label[label];
}

/* Pass 1: adds a sample to the totals. */
static void survey(void *opaque, const struct scanned *m, const struct pbin_definitions *all)
{
    struct reading *r = opaque;
    r->duration = m->end;
    double part = overlap(m->begin, m->end, r->start, r->end);
    if (part <= 0)
        return;
    r->samples++;
    grow(&r->thread_total, &r->thread_count, &r->thread_capacity, all->thread_count);
    for (size_t j = 0; j < m->threads; j++) {
        double time = part * scanned_time(m, j);
        uint32_t row = key_map_row(&r->map, all, m->thread[j], m->location[j]);
        add_total(r, row, r->request->energy ? part * scanned_energy(m, j) : time);
        r->thread_total[m->thread[j]] += time;
    }
    for (size_t i = 0; i < SCANNED_LABELS; i++)
        if (m->free[i] != 0)
            add_total(r, label_row(r, i), part * m->free[i]);
}

/* Returns the indices of the positive TOTALS, largest first, and sets *COUNT. Caller frees. */
static struct ranked *rank(const double *totals, size_t *count)
{
    struct ranked *ranks = mem_zalloc(*count + 1, sizeof *ranks);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (totals[i] > 0)
            ranks[kept++] = (struct ranked){totals[i], i};
    ranked_sort(ranks, kept);
    *count = kept;
    return ranks;
}

static const char *text_of(const void *texts, uint64_t number)
{
    return strings_get(texts, (uint32_t)number);
}

static void name_series(struct reading *r, const struct ranked *ranks, size_t count)
{
    const struct pbin_row **rows = mem_zalloc(count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++)
        rows[i] = &r->rows.rows[ranks[i].index];
    struct name_source source = {&r->keys, text_of, r->rows.texts};
    r->bins->names = names_make(&source, rows, count);
    free(rows);
}

static void choose_series(struct reading *r)
{
    struct time_bins *b = r->bins;
    size_t count = r->row_count;
    struct ranked *ranks = rank(r->row_total, &count);
    size_t own = count > r->request->series ? r->request->series : count;
    b->series = own + (own < count);
    r->series = mem_zalloc(r->row_count + 1, sizeof *r->series);
    for (size_t i = 0; i < r->row_count; i++)
        r->series[i] = b->series > own ? (uint32_t)own : NOWHERE;
    for (size_t i = 0; i < count; i++)
        r->series[ranks[i].index] = (uint32_t)(i < own ? i : own);
    name_series(r, ranks, own);
    if (own < count)
        b->names[own] = mem_strdup(LABEL_OTHER);
    free(ranks);
}

static int compare_lanes(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Gives lanes to the busiest threads, in order of appearance; the others share the last lane. There
 * is a lane even if all threads wait. */
static void choose_lanes(struct reading *r)
{
    struct time_bins *b = r->bins;
    size_t count = r->thread_count, most = r->request->lanes;
    struct ranked *ranks = rank(r->thread_total, &count);
    b->thread_count = count;
    b->lane_count = most == 0 || count == 0 ? 1 : count < most ? count : most;
    bool too_many = most > 0 && count > b->lane_count;
    size_t own = most == 0 || count == 0 ? 0 : b->lane_count - too_many;
    b->rest = too_many ? count - own : 0;
    b->lanes = mem_zalloc(b->lane_count, sizeof *b->lanes);
    if (too_many)
        b->lanes[own].name = mem_printf(b->lane_count == 1 ? "%zu threads" : "%zu others", b->rest);
    r->lane = mem_zalloc(r->thread_count + 1, sizeof *r->lane);
    for (size_t i = 0; i < r->thread_count; i++)
        r->lane[i] = own < b->lane_count ? (uint32_t)own : NOWHERE;
    qsort(ranks, own, sizeof *ranks, compare_lanes);
    for (size_t i = 0; i < own; i++)
        r->lane[ranks[i].index] = (uint32_t)i;
    free(ranks);
}

static void make_bins(struct reading *r)
{
    struct time_bins *b = r->bins;
    b->start = r->start;
    double end = r->end < r->duration ? r->end : r->duration;
    size_t each = r->interpolate > 0 ? r->interpolate : 1;
    size_t most = r->samples / each + (r->samples % each > 0);
    b->count = most < r->request->bins ? most : r->request->bins;
    b->count = b->count == 0 ? 1 : b->count;
    b->width = end > b->start ? (end - b->start) / (double)b->count : 1;
    b->low = mem_zalloc(b->count, sizeof *b->low);
    b->high = mem_zalloc(b->count, sizeof *b->high);
    b->energy = mem_zalloc(b->count, sizeof *b->energy);
    b->seconds = mem_zalloc(b->count, sizeof *b->seconds);
    for (size_t i = 0; i < b->count; i++)
        b->low[i] = b->high[i] = NAN;
    b->cells = mem_zalloc(b->lane_count * b->count + 1, (b->series + 1) * sizeof *b->cells);
}

static void add_rate(struct time_bins *b, size_t bin, const struct scanned *m, double part)
{
    if (isnan(m->rate))
        return;
    b->low[bin] = m->rate > b->low[bin] ? b->low[bin] : m->rate;
    b->high[bin] = m->rate < b->high[bin] ? b->high[bin] : m->rate;
    b->energy[bin] += part * (m->rate * m->seconds);
    b->seconds[bin] += part * m->seconds;
}

static void add_threads(struct reading *r, size_t bin, const struct scanned *m, double part,
                        const struct pbin_definitions *all)
{
    struct time_bins *b = r->bins;
    for (size_t j = 0; j < m->threads; j++) {
        uint32_t series = r->series[key_map_row(&r->map, all, m->thread[j], m->location[j])];
        uint32_t lane = r->lane[m->thread[j]];
        double amount = r->request->energy ? scanned_energy(m, j) : scanned_time(m, j);
        if (series != NOWHERE && lane != NOWHERE)
            time_cell(b, lane, bin)[series] += (float)(part * amount);
    }
    for (size_t i = 0; i < SCANNED_LABELS; i++)
        if (r->label[i] != NO_ROW && m->free[i] != 0 && r->series[r->label[i]] != NOWHERE)
            time_cell(b, 0, bin)[r->series[r->label[i]]] += (float)(part * m->free[i]);
}

static size_t bin_of(const struct time_bins *b, double time)
{
    double bin = floor((time - b->start) / b->width);
    return bin < 0 ? 0 : bin >= (double)b->count ? b->count - 1 : (size_t)bin;
}

static void name_lane(struct reading *r, const struct pbin_definitions *all, size_t thread)
{
    const struct pbin_thread *t = &all->threads[thread];
    const char *name = strings_get(all->strings, t->name);
    if (r->lane[thread] == NOWHERE)
        return;
    struct time_lane *lane = &r->bins->lanes[r->lane[thread]];
    if (lane->name != NULL)
        return;
    lane->name =
        name[0] != '\0' ? mem_printf("%s %u", name, t->tid) : mem_printf("thread %u", t->tid);
}

/* Pass 2: adds a sample to the bins. Long intervals are spread over all bins that they cross. */
static void fill(void *opaque, const struct scanned *m, const struct pbin_definitions *all)
{
    struct reading *r = opaque;
    struct time_bins *b = r->bins;
    if (overlap(m->begin, m->end, r->start, r->end) <= 0)
        return; /* R has only the threads between START and END */
    size_t last = bin_of(b, m->end);
    for (size_t bin = bin_of(b, m->begin); bin <= last; bin++) {
        double low = b->start + (double)bin * b->width;
        double part = overlap(m->begin, m->end, low, low + b->width);
        if (part <= 0)
            continue;
        add_rate(b, bin, m, part);
        add_threads(r, bin, m, part, all);
        if (m->end <= m->begin)
            break;
    }
    for (size_t j = 0; j < m->threads && r->request->lanes > 0; j++)
        name_lane(r, all, m->thread[j]);
}

static int read_bins(struct reading *r, struct scan *scan, struct error *err)
{
    if (scan_run(scan, r->request->energy, survey, r, err) != 0)
        return -1;
    if (r->samples == 0 && r->duration > 0) {
        err->is_nothing = true;
        return error_set(err, stream_name(scan->in), NO_OFFSET,
                         "nothing is selected: no samples between --start and --end; the run took "
                         "%.6g %s",
                         r->duration, scan->has_seconds ? "s" : "samples");
    }
    if (r->samples == 0)
        return error_set(err, stream_name(scan->in), NO_OFFSET, "no samples to draw");
    grow(&r->thread_total, &r->thread_count, &r->thread_capacity, 1);
    choose_series(r);
    choose_lanes(r);
    make_bins(r);
    if (scan_run(scan, r->request->energy, fill, r, err) != 0)
        return -1;
    for (size_t i = 0; i < r->bins->lane_count; i++)
        if (r->bins->lanes[i].name == NULL)
            r->bins->lanes[i].name = mem_strdup("");
    return 0;
}

static const struct selection everything; /* counts */

int time_bins_read(struct time_bins *bins, const struct plot *plot,
                   const struct time_request *request, struct error *err)
{
    const struct plot_options *o = plot->options;
    struct reading r = {.request = request,
                        .interpolate = o->interpolate,
                        .bins = bins,
                        .label = {NO_ROW, NO_ROW},
                        .keys = o->keys};
    struct scan scan;
    *bins = (struct time_bins){0};
    if (scan_open(&scan, plot, request->kind, err) != 0)
        return -1;
    r.start = isnan(o->start) ? 0 : o->start;
    r.end = isnan(o->end) ? INFINITY : o->end;
    if (r.keys.count == 0)
        r.keys = pbin_keys_of("binary,function");
    r.keys.caller = o->keys.caller;
    rowset_init(&r.rows, &r.keys);
    key_map_init(&r.map, &r.rows, &r.keys, &everything, NULL, plot->options->code);
    r.map.names = &o->names;
    int result = read_bins(&r, &scan, err);
    pbin_meta_copy(&bins->meta, &scan.meta);
    quantity_of(&bins->meta, &bins->quantity);
    bins->has_seconds = scan.has_seconds;
    key_map_free(&r.map);
    rowset_free(&r.rows);
    free(r.row_total);
    free(r.thread_total);
    free(r.series);
    free(r.lane);
    scan_close(&scan);
    if (result != 0)
        time_bins_free(bins);
    return result;
}

void time_bins_free(struct time_bins *b)
{
    for (size_t i = 0; i < b->series && b->names != NULL; i++)
        free(b->names[i]);
    for (size_t i = 0; i < b->lane_count && b->lanes != NULL; i++)
        free(b->lanes[i].name);
    free(b->names);
    free(b->lanes);
    free(b->low);
    free(b->high);
    free(b->energy);
    free(b->seconds);
    free(b->cells);
    pbin_meta_free(&b->meta);
    *b = (struct time_bins){0};
}
