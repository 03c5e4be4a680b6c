/* The windows of threads that are in every sample and always run.
 *
 * The lines of fit_lines.c, without a branch for each sample. What an interval adds to the samples around it is computed in one
 * vector; sums of a sample are added to the tally of its column, and a window is complete when the next begins:
 *
 *   sample       i-2     i-1      i      i+1
 *   interval i          |=======|              adds to all four, of which i-2 is complete then
 *
 * All numbers are multiples of the same unit, so that sums do not depend on the order.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_regular.h"

#include <math.h>
#include <string.h>

#include "analyze/attribute/weigh.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/vectors.h"

#define INLINE static inline __attribute__((always_inline))

/* CPU time by the line through all samples, and by the line through every other sample, this one among them. */
enum { WHOLE, HALF, LANES };
typedef double lanes __attribute__((vector_size(LANES * 8)));
typedef int64_t lane_bits __attribute__((vector_size(LANES * 8)));

/* What samples of a column got in the open window, those with even and those with odd numbers. */
struct fit_tally {
    lanes sum[2];
    double squares[2]; /* of intervals that it switched in */
};

/* Intervals that are in one window: from number FIRST, or the part of it that follows an update, up to END, the last of which
 * may be cut by an update, too. */
struct segment {
    size_t window, first, end;
    bool begins_cut, ends_cut;
};

struct regular {
    struct fit_windows *w;
    struct fit_tally *tally;
    size_t n; /* threads */
    double slope[STRETCH + 1];
    struct part {
        lanes own,
            next; /* of 1 ns: for the sample at the end of an interval, and for the sample after it */
    } parts[STRETCH];
    double *switches; /* by thread sample: squares of intervals that it switched in */
    uint64_t seen[FIT_COLUMNS / FIT_WORD]; /* a bit for each column in the window */
};

/* ---- segments ---- */

/* The segment that begins with S, whose FIRST is set. Returns whether there is one. */
static bool find_segment(const struct fit_windows *w, struct segment *s)
{
    size_t end = w->view->stretch->count - FIT_REGULAR_END, i = s->first;
    if (i >= end)
        return false;
    s->window = fit_window_of(w, s->begins_cut ? 1 : 0, i);
    i += s->begins_cut;
    while (i < end && fit_window_of(w, 0, i) == s->window && fit_window_of(w, 1, i) == s->window)
        i++;
    s->ends_cut = i < end && fit_window_of(w, 0, i) == s->window;
    s->end = i + s->ends_cut;
    return true;
}

static struct segment next_segment(const struct segment *s)
{
    return (struct segment){.first = s->end - s->ends_cut, .begins_cut = s->ends_cut};
}

VECTORS
static bool all_positive(const double *values, size_t count)
{
    int64_t other = 0;
    for (size_t i = 0; i < count; i++)
        other |= values[i] > 0 ? 0 : -1;
    return other == 0;
}

VECTORS
static double highest(const double *values, size_t count)
{
    int64_t most = 0; /* the bits of positive numbers sort like the numbers */
    for (size_t i = 0; i < count; i++) {
        int64_t bits = (int64_t)bits_of_double(values[i]);
        most = bits > most ? bits : most;
    }
    return double_of_bits((uint64_t)most);
}

/* Do windows follow each other? */
VECTORS
static bool all_follow(const uint16_t *restrict first, const uint16_t *restrict second,
                       size_t count)
{
    unsigned other = 0;
    for (size_t i = 1; i < count; i++)
        other |= (unsigned)(uint16_t)(second[i] - first[i]) |
                 (unsigned)(uint16_t)(first[i] - second[i - 1]);
    return other <= 1;
}

/* The most intervals in a segment. */
static size_t find_longest(const struct fit_windows *w)
{
    size_t longest = 0;
    for (struct segment s = {.first = FIT_REGULAR_FROM}; find_segment(w, &s); s = next_segment(&s))
        longest = s.end - s.first > longest ? s.end - s.first : longest;
    return longest;
}

/* Are sums of squares exact in windows of COUNT intervals? */
static bool is_exact(const struct fit_view *v, size_t count)
{
    double most = highest(v->cpu_ns, v->thread_samples);
    return 2 * most * most * (double)(count * v->threads[0]) < 0x1p53;
}

bool fit_is_regular(const struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    size_t count = v->stretch->count;
    return count > FIT_REGULAR_FROM + FIT_REGULAR_END && v->uses == NULL && v->counts == NULL &&
           !w->restless &&
           (v->waits == NULL || memchr(v->waits, true, v->thread_samples) == NULL) &&
           (w->differ || all_positive(v->cpu_ns, v->thread_samples)) &&
           all_positive(v->stretch->ns, count) && all_follow(w->in[0], w->in[1], count) &&
           (is_exact(v, count) || is_exact(v, find_longest(w)));
}

/* ---- what intervals add ---- */

/* Of interval I from BEGIN to END. */
INLINE void find_part(const double *slope, size_t i, double begin, double end, struct part *part)
{
    double middle = (begin + end) / 2, low = slope[i], high = slope[i + 1];
    part->own = (lanes){middle, low + middle * (1 - low)};
    part->next = (lanes){0, middle * high};
}

/* Follows a thread. */
struct walk {
    lanes before, first,
        second; /* sums of the samples before, at the begin and at the end of the next interval */
    const uint16_t *of;
};

INLINE void see(struct regular *r, uint16_t column)
{
    r->seen[column / FIT_WORD] |= UINT64_C(1) << column % FIT_WORD;
}

INLINE void put(struct regular *r, struct walk *walk, size_t n, size_t i, const lanes *sum)
{
    uint16_t column = walk->of[n * i];
    r->tally[column].sum[i % 2] += *sum;
    see(r, column);
}

/* What is not for the sample at the end of the interval is for the one at its begin and, of the line through every other sample,
 * for the one before. */
INLINE void step(struct regular *r, struct walk *walk, size_t n, size_t i, double cpu_ns,
                 const struct part *part)
{
    const double large = 0x1.8p52 / FIT_TICK; /* as fit_to_tick */
    const lane_bits half = {0, -1};
    lanes cpu = {cpu_ns, cpu_ns}, all = cpu + large - large, own = cpu * part->own + large - large;
    lanes next = cpu * part->next + large - large, rest = all - own, begin = all - next;
    walk->before += (lanes)((lane_bits)rest & half);
    put(r, walk, n, i - 2, &walk->before);
    walk->before = walk->first + (lanes)(((lane_bits)rest & ~half) | ((lane_bits)begin & half));
    walk->first = walk->second + own;
    walk->second = next;
}

/* A part of interval I. */
INLINE void step_cut(struct regular *r, struct walk *walk, size_t n, size_t j, size_t i,
                     double begin, double end)
{
    struct part part;
    find_part(r->slope, i, begin, end, &part);
    step(r, walk, n, i, r->w->view->cpu_ns[n * i + j] * (end - begin), &part);
}

INLINE void put_squares(struct regular *r, const struct walk *walk, size_t n, size_t i,
                        const double *switches)
{
    r->tally[walk->of[n * i]].squares[i % 2] += switches[n * i];
}

/* Thread number J of N in a segment. */
INLINE void walk_thread(struct regular *r, const struct segment *s, size_t n, size_t j)
{
    const double *cpu_ns = r->w->view->cpu_ns + j, *switches = r->switches + j;
    struct walk walk = {.of = r->w->fit->of + j};
    size_t i = s->first;
    if (s->begins_cut)
        step_cut(r, &walk, n, j, i, fit_cut_of(r->w, i), 1), i++;
    for (; i < s->end - s->ends_cut; i++) {
        step(r, &walk, n, i, cpu_ns[n * i], &r->parts[i]);
        put_squares(r, &walk, n, i, switches);
    }
    if (s->ends_cut) {
        step_cut(r, &walk, n, j, i, 0, fit_cut_of(r->w, i));
        put_squares(r, &walk, n, i++, switches);
    }
    put(r, &walk, n, i - 2, &walk.before);
    put(r, &walk, n, i - 1, &walk.first);
    put(r, &walk, n, i, &walk.second);
}

/* The same if all samples around the segment are in one column: each line gives it all CPU time, whatever it gives a sample.
 * Returns false if they are not. */
INLINE bool add_steady(struct regular *r, const struct segment *s, size_t n, size_t j)
{
    const uint16_t *of = r->w->fit->of + j;
    const double *cpu_ns = r->w->view->cpu_ns + j;
    size_t i = s->first, end = s->end - s->ends_cut;
    uint16_t own = of[n * i];
    unsigned other = (unsigned)(of[n * (i - 2)] ^ own) | (unsigned)(of[n * (i - 1)] ^ own) |
                     (unsigned)(of[n * (s->end - 1)] ^ own) | (unsigned)(of[n * s->end] ^ own);
    double sum = 0;
    if (other != 0)
        return false;
    if (s->begins_cut) {
        sum = fit_to_tick(cpu_ns[n * i] * (1 - fit_cut_of(r->w, i)));
        i++;
    }
    for (; i < end; i++) {
        other |= (unsigned)(of[n * i] ^ own);
        sum += fit_to_tick(cpu_ns[n * i]);
    }
    if (other != 0)
        return false;
    if (s->ends_cut)
        sum += fit_to_tick(cpu_ns[n * i] * fit_cut_of(r->w, i));
    r->tally[own].sum[0] += (lanes){sum, sum};
    r->tally[own].sum[1] += (lanes){0, sum};
    see(r, own);
    return true;
}

INLINE void add_threads(struct regular *r, const struct segment *s, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if (!add_steady(r, s, n, j))
            walk_thread(r, s, n, j);
}

VECTORS
static void walk_segment(struct regular *r, const struct segment *s)
{
    if (r->n == 1)
        add_threads(r, s, 1);
    else if (r->n == 2)
        add_threads(r, s, 2);
    else
        add_threads(r, s, r->n);
}

/* ---- complete windows ---- */

/* Intervals that are not regular are in entries. */
static void take_entries(struct regular *r, size_t window)
{
    struct fit *fit = r->w->fit;
    for (uint32_t e = fit->head[window]; e != FIT_NOWHERE; e = fit->entries[e].next) {
        struct fit_entry *entry = &fit->entries[e];
        struct fit_tally *t = &r->tally[entry->column];
        t->sum[0] += (lanes){entry->cpu[0], entry->cpu[1]};
        t->sum[1] += (lanes){0, entry->cpu[2]};
        see(r, entry->column);
        memset(entry->cpu, 0, sizeof entry->cpu);
    }
}

static void take_tally(struct regular *r, size_t column, struct fit_inner *inner)
{
    struct fit_tally *t = &r->tally[column];
    size_t i = inner->count++;
    double x = t->sum[0][WHOLE] + t->sum[1][WHOLE], y = t->sum[0][HALF], z = t->sum[1][HALF];
    inner->column[i] = (uint16_t)column;
    inner->cpu[0][i] = x;
    inner->cpu[1][i] = y;
    inner->cpu[2][i] = z;
    inner->varies |= (x != y) | (x != z);
    r->w->total[column] += x;
    r->w->fit->squares[column] += (uint64_t)(int64_t)(t->squares[0] + t->squares[1]);
    *t = (struct fit_tally){{{0}}, {0}};
}

/* Moves the tallies to INNER, in order of columns. */
static void take_tallies(struct regular *r, struct fit_inner *inner)
{
    for (size_t word = 0; word < FIT_COLUMNS / FIT_WORD; word++) {
        for (uint64_t bits = r->seen[word]; bits != 0; bits &= bits - 1)
            take_tally(r, word * FIT_WORD + (size_t)__builtin_ctzll(bits), inner);
        r->seen[word] = 0;
    }
    for (size_t i = inner->count; i % FIT_LANES != 0; i++)
        inner->cpu[0][i] = inner->cpu[1][i] = inner->cpu[2][i] = 0;
}

/* The first and the last window may go on in other stretches: they remain in entries. */
static void put_entries(struct regular *r, size_t window, const struct fit_inner *inner)
{
    for (size_t i = 0; i < inner->count; i++) {
        double *cpu = fit_entry_of(r->w->fit, window, inner->column[i]);
        for (size_t e = 0; e < FIT_ESTIMATES; e++)
            cpu[e] += inner->cpu[e][i];
        r->w->total[inner->column[i]] -= inner->cpu[0][i]; /* entries are counted later */
    }
}

static void end_window(struct regular *r, size_t window)
{
    struct fit_windows *w = r->w;
    uint16_t column[FIT_COLUMNS];
    double cpu[FIT_ESTIMATES][FIT_COLUMNS];
    struct fit_inner inner = fit_inner_of(w, window, column, cpu);
    bool is_inner = window > 0 && window + 1 < w->count;
    if (is_inner)
        take_entries(r, window);
    take_tallies(r, &inner);
    if (!is_inner)
        put_entries(r, window, &inner);
    else if (!w->bad[window] && is_summable(inner.energy))
        fit_take_inner(w->fit, &inner);
}

/* ---- stretches ---- */

VECTORS
static void find_slopes(const double *restrict ns, size_t count, double *restrict slope)
{
    slope[0] = slope[count] = 0;
    for (size_t i = 1; i < count; i++)
        slope[i] = ns[i - 1] / (ns[i - 1] + ns[i]);
}

VECTORS
static void find_parts(const double *slope, size_t count, struct part *parts)
{
    for (size_t i = 0; i < count; i++)
        find_part(slope, i, 0, 1, &parts[i]);
}

/* Squares of intervals that end in another column than they begin in, by thread samples: then of those at both of its ends. */
VECTORS
static void find_switches(const uint16_t *restrict of, const double *restrict cpu_ns, size_t n,
                          size_t count, double *restrict switches)
{
    const double large = 0x1.8p52;
    for (size_t k = 0; k < n * FIT_REGULAR_FROM; k++)
        switches[k] = 0;
    for (size_t k = n * FIT_REGULAR_FROM; k < count; k++) {
        double square = cpu_ns[k] * cpu_ns[k] + large - large;
        switches[k] = of[k] != of[k - n] ? square : 0;
    }
    for (size_t k = count; k < count + n; k++)
        switches[k] = 0;
    for (size_t k = 0; k < count; k++)
        switches[k] += switches[k + n];
}

static void reserve(struct fit *fit, const struct fit_view *v)
{
    size_t room = v->thread_samples + v->threads[0];
    mem_reserve(&fit->switches, &fit->switch_capacity, room, sizeof *fit->switches);
    if (fit->tally != NULL)
        return;
    fit->tally = mem_aligned(64, FIT_COLUMNS, sizeof *fit->tally);
    memset(fit->tally, 0, FIT_COLUMNS * sizeof *fit->tally);
}

void fit_add_regular(struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    size_t n = v->threads[0], count = v->stretch->count;
    struct regular r;
    struct segment s = {.first = FIT_REGULAR_FROM};
    reserve(w->fit, v);
    r.w = w;
    r.n = n;
    r.tally = w->fit->tally;
    r.switches = w->fit->switches;
    memset(r.seen, 0, sizeof r.seen);
    find_slopes(v->stretch->ns, count, r.slope);
    find_parts(r.slope, count, r.parts);
    find_switches(w->fit->of, v->cpu_ns, n, n * (count - FIT_REGULAR_END), r.switches);
    for (size_t k = n * (FIT_REGULAR_FROM - 1); k < n * FIT_REGULAR_FROM; k++)
        w->fit->squares[w->fit->of[k]] += (uint64_t)r.switches[k];
    w->taken_from = fit_window_of(w, 0, s.first);
    while (find_segment(w, &s)) {
        walk_segment(&r, &s);
        end_window(&r, s.window);
        w->taken_end = s.window + 1;
        s = next_segment(&s);
    }
}
