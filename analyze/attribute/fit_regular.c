/* The windows of threads that are in every sample and always run.
 *
 * These are the lines of fit_lines.c, without a branch for each sample. An interval contributes to
 * the samples around it:
 *
 *   sample       i-2     i-1      i      i+1
 *   interval i          |=======|              contributes to all four
 *
 * The total that a sample gets from the intervals around it is computed for the whole stretch, in
 * vectors, and added to the tally of its column. Only samples at the edges of a window, which get
 * less, need further work.
 *
 * All numbers are multiples of the same unit, so that sums do not depend on the order.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_regular.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/weigh.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/vectors.h"

/* CPU time from the line through all samples, and from the line through every other sample,
 * including this one. */
enum { WHOLE, HALF, LANES };
typedef double lanes __attribute__((vector_size(LANES * 8)));
typedef int64_t lane_bits __attribute__((vector_size(LANES * 8)));
/* VALUE where LANE is set, otherwise OTHER. */
#define EITHER(lane, value, other)                                                                 \
    ((lanes)(((lane) & (lane_bits)(value)) | (~(lane) & (lane_bits)(other))))

/* CPU time of a column in the open window, from samples with even and with odd numbers. */
struct fit_tally {
    lanes sum[2];
};

/* Consecutive intervals in one window: from interval FIRST, or the part of it after an update, up
 * to END. The last of them may also be cut by an update. */
struct segment {
    size_t window, first, end;
    bool begins_cut, ends_cut;
};

/* Arrays with an element for each thread sample. */
struct fit_regular {
    double *early, *late; /* parts of an interval, see find_lines */
    lanes *sum;           /* total from all intervals around it */
    uint64_t *switches;   /* squares of the intervals before and after it that change columns */
    size_t room;          /* elements of each array */
    size_t even;          /* up to here, EARLY and LATE are those of equal intervals */
    struct fit_tally tally[FIT_COLUMNS];
};

struct regular {
    struct fit_windows *w;
    struct fit_regular *to;
    size_t n;                  /* threads */
    size_t count;              /* samples */
    size_t end;                /* of the intervals to add */
    bool ready;                /* the arrays have been computed */
    bool even;                 /* all intervals are equal, so that all of SLOPE would be 0.5 */
    double slope[STRETCH + 1]; /* see fit_find_slopes */
    bool few;                  /* there are at most FIT_WORD columns */
    /* A bit for each column in the window. There are two sets, so that consecutive thread samples
     * need not wait for each other. */
    uint64_t seen[2][FIT_COLUMNS / FIT_WORD];
};

/* ---- segments ---- */

/* Fills in the segment S, whose FIRST and BEGINS_CUT are set. Returns false if it begins at or
 * after END. */
static bool find_segment(const struct fit_windows *w, size_t end, struct segment *s)
{
    if (s->first >= end)
        return false;
    s->window = fit_window_of(w, s->begins_cut ? 1 : 0, s->first);
    size_t last = w->last[s->window];
    s->ends_cut = last < end && fit_window_of(w, 1, last) != s->window;
    s->end = last < end ? last + 1 : end;
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
    int64_t most = 0; /* the bits of positive numbers have the order of the numbers */
    for (size_t i = 0; i < count; i++) {
        int64_t bits = (int64_t)bits_of_double(values[i]);
        most = bits > most ? bits : most;
    }
    return double_of_bits((uint64_t)most);
}

/* Returns whether each window is the same as the one before it, or the next. */
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

/* Returns whether sums of squares are integers that fit in a word. */
static bool is_exact(const struct fit_view *v)
{
    double most = highest(v->cpu_ns, v->thread_samples);
    return most * most * (double)v->thread_samples < 0x1p60 && most * most < 0x1p51;
}

bool fit_is_regular(const struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    size_t count = v->stretch->count;
    return count > FIT_REGULAR_FROM + FIT_REGULAR_END && v->uses == NULL && v->counts == NULL &&
           !w->scattered &&
           (v->waits == NULL || memchr(v->waits, true, v->thread_samples) == NULL) &&
           (w->differ || all_positive(v->cpu_ns, v->thread_samples)) &&
           all_positive(v->stretch->ns, count) && all_follow(w->in[0], w->in[1], count) &&
           is_exact(v);
}

/* ---- the CPU time of samples ---- */

VECTORS
void fit_find_slopes(const double *restrict ns, size_t count, double *restrict slope)
{
    slope[0] = slope[count] = 0;
    for (size_t i = 1; i < count; i++)
        slope[i] = ns[i - 1] / (ns[i - 1] + ns[i]);
}

/* The part of each interval that goes to the sample at its end (EARLY) and to the sample after that
 * (LATE), by the lines through every other sample. */
VECTORS
static void find_lines(const double *restrict slope, size_t count, double *restrict early,
                       double *restrict late)
{
    for (size_t i = 0; i < count; i++) {
        early[i] = slope[i] + (1 - slope[i]) / 2;
        late[i] = slope[i + 1] / 2;
    }
}

/* Turns values by sample into values by thread sample. */
VECTORS
static void repeat(const double *restrict values, size_t count, size_t n, double *restrict each)
{
    for (size_t i = 0; i < count && n == 2; i++)
        each[2 * i] = each[2 * i + 1] = values[i];
    for (size_t i = 0; i < count && n != 2; i++)
        for (size_t j = 0; j < n; j++)
            each[n * i + j] = values[i];
}

/* The CPU time that thread sample K gets from the intervals around it, from the one before to the
 * one after. */
INLINE void put_nearest(const double *restrict cpu_ns, const double *restrict early,
                        const double *restrict late, size_t n, size_t k, double more,
                        double *restrict sum)
{
    double before = fit_to_tick(cpu_ns[k - n] * late[k - n]),
           own = fit_to_tick(cpu_ns[k] * early[k]), all = fit_to_tick(cpu_ns[k + n]),
           after = fit_to_tick(cpu_ns[k + n] * late[k + n]);
    sum[LANES * k + WHOLE] = fit_to_tick(cpu_ns[k] / 2) + (all - fit_to_tick(cpu_ns[k + n] / 2));
    sum[LANES * k + HALF] = before + own + (all - after) + more;
}

/* The CPU time that thread samples FIRST to END get from all intervals around them. For the last N
 * of them, the second interval after them is left out. */
VECTORS
static void add_up(const double *restrict cpu_ns, const double *restrict early,
                   const double *restrict late, size_t n, size_t first, size_t end,
                   double *restrict sum)
{
    size_t k = first;
    for (; k + n < end; k++) {
        double more = cpu_ns[k + 2 * n];
        put_nearest(cpu_ns, early, late, n, k,
                    fit_to_tick(more) - fit_to_tick(more * early[k + 2 * n]), sum);
    }
    for (; k < end; k++)
        put_nearest(cpu_ns, early, late, n, k, 0, sum);
}

/* The squares of the intervals that begin in one column and end in another: first by the thread
 * sample at their end, then summed over both of their ends. */
VECTORS
static void find_switches(const uint16_t *restrict of, const double *restrict cpu_ns, size_t n,
                          size_t count, uint64_t *restrict switches)
{
    const double large = 0x1.8p52;
    for (size_t k = 0; k < n * FIT_REGULAR_FROM; k++)
        switches[k] = 0;
    for (size_t k = n * FIT_REGULAR_FROM; k < count; k++) {
        uint64_t square = bits_of_double(cpu_ns[k] * cpu_ns[k] + large) - bits_of_double(large);
        switches[k] = of[k] != of[k - n] ? square : 0;
    }
    for (size_t k = count; k < count + n; k++)
        switches[k] = 0;
    for (size_t k = 0; k < count; k++)
        switches[k] += switches[k + n];
}

/* Divides one block of memory among the arrays, which have SIZE elements each. */
static struct fit_regular *reserve(struct fit *fit, size_t size)
{
    enum { ARRAYS = 5, SPREAD = 5 };
    if (fit->regular == NULL)
        fit->regular = mem_zalloc(1, sizeof *fit->regular);
    struct fit_regular *r = fit->regular;
    size_t room = (size + 7) / 8 * 8 + (size_t)8 * SPREAD; /* not in the same lines of the cache */
    if (ARRAYS * room > fit->regular_capacity) {
        free(fit->regular_room);
        fit->regular_room = mem_aligned(64, ARRAYS * room, sizeof *fit->regular_room);
        fit->regular_capacity = ARRAYS * room;
    }
    if (room != r->room)
        r->even = 0;
    r->room = room;
    double *at = fit->regular_room;
    r->sum = (lanes *)(void *)at;
    r->early = at + 2 * room;
    r->late = at + 3 * room;
    r->switches = (uint64_t *)(void *)(at + 4 * room);
    return r;
}

VECTORS
static bool are_even(const double *ns, size_t count)
{
    uint64_t other = 0;
    for (size_t i = 1; i < count; i++)
        other |= bits_of_double(ns[i]) ^ bits_of_double(ns[0]);
    return other == 0;
}

/* The parts of equal intervals are constants, which may remain from an earlier stretch. */
static void find_even_lines(struct fit_regular *to, size_t count)
{
    for (size_t k = to->even; k < count; k++) {
        to->early[k] = 0.75;
        to->late[k] = 0.25;
    }
    to->even = count > to->even ? count : to->even;
}

static void find_lines_of(struct regular *r)
{
    const double *ns = r->w->view->stretch->ns;
    double early[STRETCH + STRETCH_ROOM], late[STRETCH + STRETCH_ROOM];
    size_t count = r->w->view->stretch->count;
    r->even = are_even(ns, count);
    if (r->even) {
        find_even_lines(r->to, r->n * count);
        return;
    }
    r->to->even = 0;
    fit_find_slopes(ns, count, r->slope);
    if (r->n == 1) {
        find_lines(r->slope, count, r->to->early, r->to->late);
        return;
    }
    find_lines(r->slope, count, early, late);
    repeat(early, count, r->n, r->to->early);
    repeat(late, count, r->n, r->to->late);
}

/* Computes the arrays. Not all stretches need them. */
static void prepare(struct regular *r)
{
    struct fit *fit = r->w->fit;
    const struct fit_view *v = r->w->view;
    const struct fit_regular *to = r->to;
    size_t n = r->n, end = n * (r->count - FIT_REGULAR_END);
    find_lines_of(r);
    add_up(v->cpu_ns, to->early, to->late, n, n * FIT_REGULAR_FROM, end, (double *)to->sum);
    find_switches(fit->of, v->cpu_ns, n, end, to->switches);
    for (size_t k = n * (FIT_REGULAR_FROM - 1); k < n * FIT_REGULAR_FROM; k++)
        fit->squares[fit->of[k]] += to->switches[k];
    r->ready = true;
}

/* ---- contributions of intervals ---- */

/* The CPU time that an interval contributes to four samples, from the second before its end to the
 * first after it. */
struct around {
    lanes sum[4];
};

/* Divides CPU time: the lines assign these parts of it to the sample at the end of the interval
 * (WHOLE, EARLY) and to the one after that (LATE). */
INLINE struct around divide(double cpu_ns, double whole, double early, double late)
{
    double all = fit_to_tick(cpu_ns), own = fit_to_tick(cpu_ns * whole);
    double half = fit_to_tick(cpu_ns * early), next = fit_to_tick(cpu_ns * late);
    return (struct around){{{0, all - half}, {all - own, all - next}, {own, half}, {0, next}}};
}

/* Divides the CPU time of thread sample K, for a whole interval. */
INLINE struct around divide_whole(const struct regular *r, size_t k)
{
    return divide(r->w->view->cpu_ns[k], 0.5, r->to->early[k], r->to->late[k]);
}

/* Divides the CPU time of thread J in interval I, from BEGIN to END. */
INLINE struct around divide_cut(const struct regular *r, size_t n, size_t j, size_t i, double begin,
                                double end)
{
    double middle = (begin + end) / 2, low = r->even ? 0.5 : r->slope[i],
           high = r->even ? 0.5 : r->slope[i + 1];
    return divide(r->w->view->cpu_ns[n * i + j] * (end - begin), middle, low + middle * (1 - low),
                  middle * high);
}

/* Adds SUM to the tally of sample I, which is in COLUMN. */
INLINE void put(const struct regular *r, uint16_t column, size_t i, const lanes *sum)
{
    r->to->tally[column].sum[i % 2] += *sum;
}

/* Marks the columns of thread samples K to END as seen. */
INLINE void see(struct regular *r, size_t k, size_t end)
{
    const uint16_t *of = r->w->fit->of;
    uint64_t bits = 0;
    for (; k < end && r->few; k++)
        bits |= UINT64_C(1) << of[k];
    r->seen[0][0] |= bits;
    for (; k < end; k++)
        r->seen[k % 2][of[k] / FIT_WORD] |= UINT64_C(1) << of[k] % FIT_WORD;
}

/* Adds to the samples around interval I of a thread, to numbers FROM to END of the four. */
INLINE void put_around(struct regular *r, const uint16_t *of, size_t n, size_t i, size_t from,
                       size_t end, const struct around *add)
{
    for (size_t l = from; l < end; l++)
        put(r, of[n * (i + l - 2)], i + l, &add->sum[l]);
}

/* Begins a segment whose whole intervals are FIRST to END: adds what these contribute to samples
 * before the segment, and subtracts what earlier intervals contribute to its own samples. */
INLINE void begin_segment(struct regular *r, const struct segment *s, size_t n, size_t j,
                          size_t first, size_t end)
{
    size_t cut = first - 1, k = n * first + j;
    struct around add = {{{0}}};
    if (s->begins_cut)
        add = divide_cut(r, n, j, cut, fit_cut_of(r->w, cut), 1);
    if (first < end) {
        struct around own = divide_whole(r, k);
        add.sum[1] += own.sum[0];
        add.sum[2] += own.sum[1];
        if (first + 1 < end)
            add.sum[2] += divide_whole(r, k + n).sum[0];
        add.sum[3] -= divide_whole(r, k - n).sum[3];
    }
    put_around(r, r->w->fit->of + j, n, cut, s->begins_cut ? 0 : 1,
               s->begins_cut || first < end ? 4 : 0, &add);
}

/* Ends the segment: subtracts what later intervals contribute to its samples. */
INLINE void end_segment(struct regular *r, const struct segment *s, size_t n, size_t j,
                        size_t first, size_t end)
{
    size_t k = n * end + j;
    struct around add = {{{0}}};
    if (s->ends_cut)
        add = divide_cut(r, n, j, end, 0, fit_cut_of(r->w, end));
    if (first < end) {
        struct around later = divide_whole(r, k);
        if (first + 1 < end)
            add.sum[0] -= later.sum[0];
        add.sum[1] -= later.sum[1];
        if (end + 1 < r->count)
            add.sum[1] -= divide_whole(r, k + n).sum[0];
        add.sum[2] += divide_whole(r, k - n).sum[3];
    }
    put_around(r, r->w->fit->of + j, n, end, 0, s->ends_cut ? 4 : 3, &add);
}

/* Adds thread J of N in a segment. */
INLINE void walk_thread(struct regular *r, const struct segment *s, size_t n, size_t j)
{
    const uint16_t *of = r->w->fit->of + j;
    uint64_t *squares = r->w->fit->squares;
    size_t first = s->first + s->begins_cut, end = s->end - s->ends_cut;
    begin_segment(r, s, n, j, first, end);
    for (size_t i = first; i < end; i++) {
        put(r, of[n * i], i, &r->to->sum[n * i + j]);
        squares[of[n * i]] += r->to->switches[n * i + j];
    }
    if (s->ends_cut)
        squares[of[n * end]] += r->to->switches[n * end + j];
    if (s->ends_cut || first < end)
        end_segment(r, s, n, j, first, end);
}

/* The CPU time of a thread in a segment whose columns, up to the last but one, are all OWN;
 * otherwise a negative number. */
INLINE double steady_sum(const struct regular *r, const struct segment *s, size_t n, size_t j,
                         uint16_t own)
{
    const uint16_t *of = r->w->fit->of + j;
    const double *cpu_ns = r->w->view->cpu_ns + j;
    size_t i = s->first, end = s->end - s->ends_cut;
    unsigned other = 0;
    double sum = 0;
    if (s->begins_cut) {
        sum = fit_to_tick(cpu_ns[n * i] * (1 - fit_cut_of(r->w, i)));
        i++;
    }
    for (; i < end; i++) {
        other |= (unsigned)(of[n * i] ^ own);
        sum += fit_to_tick(cpu_ns[n * i]);
    }
    if (s->ends_cut)
        sum += fit_to_tick(cpu_ns[n * i] * fit_cut_of(r->w, i));
    return other == 0 ? sum : -1;
}

/* Adds thread J if all of its samples in the segment are in one column and, if AROUND, so are the
 * two before and the one after the segment: each estimate then assigns all CPU time to this column.
 * Otherwise returns false. */
INLINE bool add_steady(struct regular *r, const struct segment *s, size_t n, size_t j, bool around)
{
    const uint16_t *of = r->w->fit->of + j;
    size_t i = s->first;
    uint16_t own = of[n * i];
    unsigned other = (unsigned)(of[n * (s->end - 1)] ^ own);
    if (around)
        other |= (unsigned)(of[n * (i - 2)] ^ own) | (unsigned)(of[n * (i - 1)] ^ own) |
                 (unsigned)(of[n * s->end] ^ own);
    double sum = other == 0 ? steady_sum(r, s, n, j, own) : -1;
    if (sum < 0)
        return false;
    put(r, own, 0, &(lanes){sum, sum});
    put(r, own, 1, &(lanes){0, sum});
    return true;
}

INLINE void add_threads(struct regular *r, const struct segment *s, size_t n)
{
    see(r, n * (s->first - 2), n * (s->end + 1));
    for (size_t j = 0; j < n; j++) {
        if (add_steady(r, s, n, j, true))
            continue;
        if (!r->ready)
            prepare(r);
        walk_thread(r, s, n, j);
    }
}

/* ---- intervals of their own ---- */

/* Adds CPU time that all estimates assign to one column. */
INLINE void put_same(const struct regular *r, uint16_t column, double cpu_ns)
{
    put(r, column, 0, &(lanes){cpu_ns, cpu_ns});
    put(r, column, 1, &(lanes){0, cpu_ns});
}

/* Adds two samples, each of which represents both; see fit_pair. */
INLINE void put_pair(const struct regular *r, const struct fit_half *odd,
                     const struct fit_half *even)
{
    double first = fit_to_tick(odd->cpu_ns), second = fit_to_tick(even->cpu_ns);
    put(r, odd->column, 0, &(lanes){first, first + second});
    put(r, even->column, 1, &(lanes){second, first + second});
    if (odd->column != even->column)
        fit_count_switch(r->w->fit, odd->column, even->column, sqrt(8 * first * second));
}

/* Adds thread J of N in a segment. */
INLINE void walk_own(struct regular *r, const struct segment *s, size_t n, size_t j)
{
    const uint16_t *of = r->w->fit->of + j;
    const double *cpu_ns = r->w->view->cpu_ns + j;
    size_t i = s->first, end = s->end - s->ends_cut;
    if (s->begins_cut) {
        put_same(r, of[n * i], fit_to_tick(cpu_ns[n * i] * (1 - fit_cut_of(r->w, i))));
        i++;
    }
    for (; i + 1 < end; i += 2)
        put_pair(r, &(struct fit_half){of[n * i], cpu_ns[n * i]},
                 &(struct fit_half){of[n * (i + 1)], cpu_ns[n * (i + 1)]});
    if (i < end)
        put_same(r, of[n * i], fit_to_tick(cpu_ns[n * i]));
    if (s->ends_cut)
        put_same(r, of[n * end], fit_to_tick(cpu_ns[n * end] * fit_cut_of(r->w, end)));
}

INLINE void add_own_threads(struct regular *r, const struct segment *s, size_t n)
{
    size_t first = s->first + s->begins_cut, end = s->end - s->ends_cut;
    r->w->fit->own.paired +=
        (exact)n * ((end - first) / 2 - (first == 0 && end > 1)); /* see look_back */
    see(r, n * s->first, n * s->end);
    for (size_t j = 0; j < n; j++)
        if (!add_steady(r, s, n, j, false))
            walk_own(r, s, n, j);
}

/* Adds to OWN the values that add_own_threads lacks: the number of thread samples of N threads that
 * follow two others, their CPU times, and their products. */
VECTORS
static void add_products(const double *restrict cpu_ns, const uint16_t *restrict of, size_t n,
                         size_t count, struct fit_own *own)
{
    const double large = 0x1.8p52;
    uint64_t ns = 0, changes = 0, changes_of_two = 0;
    for (size_t k = 2 * n; k < count; k++) {
        double product = cpu_ns[k] * cpu_ns[k - n], near = product + large - large;
        double whole = cpu_ns[k] + large - large;
        uint64_t rounded = bits_of_double(near - (near > product) + large) - bits_of_double(large);
        ns += bits_of_double(whole - (whole > cpu_ns[k]) + large) - bits_of_double(large);
        changes += of[k] != of[k - n] ? rounded : 0;
        changes_of_two += of[k] != of[k - 2 * n] ? rounded : 0;
    }
    own->count += count - 2 * n;
    own->ns += ns;
    own->changes += changes;
    own->changes_of_two += changes_of_two;
}

/* Counts those that are in one window with their predecessor. */
VECTORS
static size_t count_inside(const uint16_t *restrict first, const uint16_t *restrict second,
                           size_t count)
{
    size_t inside = 0;
    for (size_t i = 2; i < count; i++)
        inside += first[i] == second[i - 1];
    return inside;
}

static void look_back(const struct regular *r)
{
    const struct fit_windows *w = r->w;
    struct fit_own *own = &w->fit->own;
    add_products(w->view->cpu_ns, w->fit->of, r->n, w->view->thread_samples, own);
    own->inside += (exact)r->n * count_inside(w->in[0], w->in[1], r->count);
}

/* ---- complete windows ---- */

/* Adds the intervals that are not regular, which are in entries. */
static void take_entries(struct regular *r, size_t window)
{
    struct fit *fit = r->w->fit;
    for (uint32_t e = fit->head[window]; e != FIT_NOWHERE; e = fit->entries[e].next) {
        struct fit_entry *entry = &fit->entries[e];
        r->seen[0][entry->column / FIT_WORD] |= UINT64_C(1) << entry->column % FIT_WORD;
        put(r, entry->column, 0, &(lanes){entry->cpu[0], entry->cpu[1]});
        put(r, entry->column, 1, &(lanes){0, entry->cpu[2]});
        memset(entry->cpu, 0, sizeof entry->cpu);
    }
}

/* Moves the tallies of the columns in BITS, which start at FIRST, to INNER, in vectors of two
 * estimates. */
INLINE void take_tallies_of(struct regular *r, uint64_t bits, size_t first, struct fit_inner *inner)
{
    const lane_bits no_sign = INT64_MAX - (lane_bits){0};
    lane_bits varies = {0};
    lanes most = {inner->most}, most_of_each = {inner->most_of_each};
    struct fit_tally *tally = r->to->tally + first;
    double *restrict total = r->w->total + first;
    uint16_t *restrict column = inner->column;
    double *restrict x = inner->cpu[0], *restrict y = inner->cpu[1], *restrict z = inner->cpu[2];
    size_t i = inner->count;
    for (; bits != 0; bits &= bits - 1, i++) {
        size_t c = (size_t)__builtin_ctzll(bits);
        struct fit_tally *t = &tally[c];
        const lanes sum = t->sum[0] + t->sum[1],
                    all = __builtin_shufflevector(sum, sum, WHOLE, WHOLE),
                    each = __builtin_shufflevector(t->sum[0], t->sum[1], HALF, LANES + HALF),
                    positive = (lanes)((lane_bits)each & no_sign);
        *t = (struct fit_tally){{{0}}};
        varies |= (lane_bits)all ^ (lane_bits)each;
        most = EITHER(all > most, all, most);
        most_of_each = EITHER(positive > most_of_each, positive, most_of_each);
        column[i] = (uint16_t)(first + c);
        x[i] = all[0];
        y[i] = each[0];
        z[i] = each[1];
        total[c] += all[0];
    }
    inner->count = i;
    inner->varies |= (varies[0] | varies[1]) != 0;
    inner->most = most[0];
    inner->most_of_each = most_of_each[0] > most_of_each[1] ? most_of_each[0] : most_of_each[1];
}

/* Moves the tallies to INNER, in order of columns. */
INLINE void take_tallies(struct regular *r, struct fit_inner *inner)
{
    size_t count = 0;
    for (size_t word = 0; word < FIT_COLUMNS / FIT_WORD; word++) {
        r->seen[0][word] |= r->seen[1][word];
        r->seen[1][word] = 0;
        count += (size_t)__builtin_popcountll(r->seen[0][word]);
    }
    fit_begin_inner(r->w->fit, inner, count);
    for (size_t word = 0; word < FIT_COLUMNS / FIT_WORD; word++) {
        if (r->seen[0][word] != 0)
            take_tallies_of(r, r->seen[0][word], word * FIT_WORD, inner);
        r->seen[0][word] = 0;
    }
}

/* Moves the first or last window to entries, because it may continue in another stretch. */
static void put_entries(struct regular *r, size_t window, const struct fit_inner *inner)
{
    for (size_t i = 0; i < inner->count; i++) {
        double *cpu = fit_entry_of(r->w->fit, window, inner->column[i]);
        for (size_t e = 0; e < FIT_ESTIMATES; e++)
            cpu[e] += inner->cpu[e][i];
        r->w->total[inner->column[i]] -= inner->cpu[0][i]; /* added again with the entries */
    }
}

INLINE void end_window(struct regular *r, size_t window)
{
    struct fit_windows *w = r->w;
    struct fit_inner inner = fit_inner_of(w, window);
    bool is_inner = window > 0 && window + 1 < w->count;
    if (is_inner)
        take_entries(r, window);
    take_tallies(r, &inner);
    if (!is_inner)
        put_entries(r, window, &inner);
    else if (!w->bad[window] && is_summable(inner.energy))
        fit_take_inner(w->fit, &inner);
}

INLINE void add_any_threads(struct regular *r, const struct segment *s, size_t n)
{
    if (r->w->own)
        add_own_threads(r, s, n);
    else
        add_threads(r, s, n);
}

VECTORS
static void add_window(struct regular *r, const struct segment *s)
{
    if (r->n == 1)
        add_any_threads(r, s, 1);
    else if (r->n == 2)
        add_any_threads(r, s, 2);
    else
        add_any_threads(r, s, r->n);
    end_window(r, s->window);
}

/* ---- stretches ---- */

void fit_add_regular(struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    size_t n = v->threads[0], count = v->stretch->count;
    struct regular r;
    struct segment s = {.first = w->own ? 0 : FIT_REGULAR_FROM};
    r.w = w;
    r.n = n;
    r.count = count;
    r.end = w->own ? count : count - FIT_REGULAR_END;
    r.few = w->fit->columns <= FIT_WORD;
    r.ready = false;
    r.to = reserve(w->fit, n * (count + 1));
    memset(r.seen, 0, sizeof r.seen);
    w->taken_from = fit_window_of(w, 0, s.first);
    for (; find_segment(w, r.end, &s); s = next_segment(&s)) {
        add_window(&r, &s);
        w->taken_end = s.window + 1;
    }
    if (w->own)
        look_back(&r);
}
