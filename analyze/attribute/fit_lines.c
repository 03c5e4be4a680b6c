/* The CPU time of each row in the windows of a stretch.
 *
 *   PC of sample   i-2        i-1         i        i+1
 *   interval i      |----------|===:=======|---------|     ':' ends a window
 *
 * The part of a row falls linearly from the sample in which it was seen to the next, in which
 * another row was seen. The line is drawn through all samples, through those with even numbers, and
 * through those with odd numbers. One window may end and the next begin within the interval.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_regular.h"

#include <math.h>

#include "base/memory.h"
#include "base/vectors.h"

/* CPU time used over more intervals than this is not assigned to windows. */
enum { MAX_REACH = 64 };

/* The entry of a column if it is not the latest one. */
static uint32_t find_entry(struct fit *fit, size_t window, uint16_t column)
{
    uint64_t *has = &fit->has[window][column / FIT_WORD], bit = UINT64_C(1) << column % FIT_WORD;
    uint32_t at = fit->head[window];
    while ((*has & bit) != 0 && fit->entries[at].column != column)
        at = fit->entries[at].next;
    if ((*has & bit) == 0) {
        *has |= bit;
        if (fit->entry_count == fit->entry_capacity)
            mem_reserve(&fit->entries, &fit->entry_capacity, fit->entry_count + 1,
                        sizeof *fit->entries);
        at = (uint32_t)fit->entry_count++;
        fit->entries[at] = (struct fit_entry){
            .column = column, .window = (uint16_t)window, .next = fit->head[window]};
        fit->head[window] = at;
    }
    fit->latest[column] = at;
    return at;
}

double *fit_entry_of(struct fit *fit, size_t window, uint16_t column)
{
    uint32_t at = fit->latest[column];
    if (at >= fit->entry_count || fit->entries[at].window != window ||
        fit->entries[at].column != column)
        at = find_entry(fit, window, column);
    return fit->entries[at].cpu;
}

/* Adds CPU time that all estimates assign to the same row. */
static inline void add_same(struct fit *fit, size_t window, uint16_t column, double cpu_ns)
{
    double *cpu = fit_entry_of(fit, window, column);
    for (size_t e = 0; e < FIT_ESTIMATES; e++)
        cpu[e] += cpu_ns;
}

/* A straight line from row FROM to row TO. An interval covers the part of it from LOW to HIGH. */
struct line {
    uint16_t from, to;
    double low, high;
};

/* Adds the part of an interval from BEGIN to END, which is in one window. */
static void add_lines(struct fit *fit, size_t window, const struct line *lines, double cpu_ns,
                      double begin, double end)
{
    for (size_t e = 0; e < FIT_ESTIMATES; e++) {
        const struct line *l = &lines[e];
        double middle = l->low + (begin + end) / 2 * (l->high - l->low);
        double cpu = cpu_ns * (end - begin), to = fit_to_tick(cpu * middle);
        fit_entry_of(fit, window, l->from)[e] += fit_to_tick(cpu) - to;
        fit_entry_of(fit, window, l->to)[e] += to;
    }
}

/* The neighbours of thread sample K of sample I; FIT_NOWHERE if there is none. */
struct link {
    uint32_t before, after; /* thread samples of the same thread, in the samples before and after */
    bool shares;            /* the first half of its interval belongs to the row before */
};

INLINE struct link links_of(const struct fit_view *v, const struct fit *fit, size_t i, size_t k)
{
    struct link l = {FIT_NOWHERE, FIT_NOWHERE, false};
    if (v->uses == NULL) {
        size_t n = v->threads[0];
        l.shares = i > 0 && v->cpu_ns[k - n] > 0;
        l.before = l.shares ? (uint32_t)(k - n) : FIT_NOWHERE;
        l.after = i + 1 < v->stretch->count && v->cpu_ns[k] > 0 ? (uint32_t)(k + n) : FIT_NOWHERE;
        return l;
    }
    size_t before = v->uses[k].before;
    l.shares = before != SIZE_MAX;
    l.before = l.shares && fit->sample[before] + 1 == i ? (uint32_t)before : FIT_NOWHERE;
    l.after = fit->after[k] != FIT_NOWHERE && fit->sample[fit->after[k]] == i + 1 ? fit->after[k]
                                                                                  : FIT_NOWHERE;
    return l;
}

/* The lines through every other sample, for an interval whose ends are in rows A and B. */
static void draw_lines(const struct fit_windows *w, size_t i, const struct link *own, uint16_t a,
                       uint16_t b, uint32_t before, struct line *lines)
{
    const struct stretch *s = w->view->stretch;
    const uint16_t *of = w->fit->of;
    struct line whole = {a, b, 0, 1};
    lines[0] = lines[1] = lines[2] = whole;
    size_t early = 1 + i % 2, late = 3 - early; /* the lines that use samples i and i - 1 */
    if (before != FIT_NOWHERE && s->ns[i - 1] > 0)
        lines[early] = (struct line){of[before], b, s->ns[i - 1] / (s->ns[i - 1] + s->ns[i]), 1};
    if (own->after != FIT_NOWHERE && s->ns[i + 1] > 0)
        lines[late] = (struct line){a, of[own->after], 0, s->ns[i] / (s->ns[i] + s->ns[i + 1])};
}

void fit_put_switch(struct fit *fit, uint16_t a, uint16_t b, double square)
{
    square = rint(square);
    if (!exact_fits(square, 0, 32))
        return;
    fit_put(fit, &fit->switched[a], exact_of_double(square, 0));
    fit_put(fit, &fit->switched[b], exact_of_double(square, 0));
}

/* Spreads CPU time that was used in several intervals over them, half to each row. */
static void spread(struct fit_windows *w, size_t i, size_t reach, uint16_t a, uint16_t b,
                   double cpu_ns)
{
    const struct stretch *s = w->view->stretch;
    double ns = 0;
    for (size_t q = i + 1 - reach; q <= i; q++)
        ns += s->ns[q];
    for (size_t q = i + 1 - reach; q <= i && ns > 0; q++) {
        double part = cpu_ns * s->ns[q] / ns / 2, cut = fit_cut_of(w, q);
        size_t first = fit_window_of(w, 0, q), second = fit_window_of(w, 1, q);
        add_same(w->fit, first, a, fit_to_tick(part * cut));
        add_same(w->fit, first, b, fit_to_tick(part * cut));
        if (first != second) {
            add_same(w->fit, second, a, fit_to_tick(part * (1 - cut)));
            add_same(w->fit, second, b, fit_to_tick(part * (1 - cut)));
        }
    }
}

/* Does the same for more intervals than windows can distinguish: only the total includes their CPU
 * time. */
static void give_up(struct fit_windows *w, size_t i, size_t reach, uint16_t column, double cpu_ns)
{
    add_same(w->fit, fit_window_of(w, 1, i), column, cpu_ns);
    for (size_t q = i + 1 - reach; q <= i; q++)
        w->bad[fit_window_of(w, 0, q)] = w->bad[fit_window_of(w, 1, q)] = true;
}

/* The number of intervals in which the CPU time of thread sample K was used. */
static size_t reach_of(const struct fit_windows *w, size_t k)
{
    return w->own ? 1 : w->view->uses[k].reach;
}

void fit_pair(struct fit *fit, size_t window, const struct fit_half *odd,
              const struct fit_half *even)
{
    if (odd->column == even->column)
        return;
    double first = fit_to_tick(odd->cpu_ns), second = fit_to_tick(even->cpu_ns);
    fit_entry_of(fit, window, odd->column)[1] += second;
    fit_entry_of(fit, window, even->column)[1] -= second;
    fit_entry_of(fit, window, even->column)[2] += first;
    fit_entry_of(fit, window, odd->column)[2] -= first;
    fit_count_switch(fit, odd->column, even->column, sqrt(8 * first * second));
}

/* A thread sample that does not directly follow another one shares no CPU time with it, so that
 * chance has a larger effect. Two successive thread samples in one window have an odd and an even
 * number; each then gets the CPU time of both. */
static void pair_up(struct fit_windows *w, size_t i, size_t k)
{
    const struct fit_view *v = w->view;
    struct fit *fit = w->fit;
    uint32_t p = v->uses[k].previous;
    fit->paired[k] = p != STRETCH_NONE && !fit->paired[p] && v->cpu_ns[p] > 0;
    if (!fit->paired[k])
        return;
    size_t before = fit->sample[p], window = fit_window_of(w, 0, i);
    fit->paired[k] = reach_of(w, p) == 1 && window == fit_window_of(w, 1, i) &&
                     window == fit_window_of(w, 0, before) && window == fit_window_of(w, 1, before);
    if (!fit->paired[k])
        return;
    fit_pair(fit, window, &(struct fit_half){fit->of[p], v->cpu_ns[p]},
             &(struct fit_half){fit->of[k], v->cpu_ns[k]});
}

/* Records how a thread sample follows the two before it. */
static void look_back(struct fit_windows *w, size_t i, size_t k)
{
    const struct fit_view *v = w->view;
    const uint16_t *of = w->fit->of;
    uint32_t p = v->uses[k].previous, earlier = p != STRETCH_NONE ? v->uses[p].previous : p;
    if (earlier == STRETCH_NONE)
        return;
    size_t before = w->fit->sample[p];
    struct fit_own_sample sample = {
        .ns = v->cpu_ns[k],
        .ns_before = v->cpu_ns[p],
        .changed = of[k] != of[p],
        .changed_of_two = of[k] != of[earlier],
        .inside = fit_window_of(w, 1, before) == fit_window_of(w, 0, i),
        .paired = w->fit->paired[k],
    };
    fit_own_add(&w->fit->own, &sample);
}

static void add_between(struct fit_windows *w, size_t i, const struct link *own, uint16_t a,
                        uint16_t b, double cpu_ns)
{
    const struct fit_view *v = w->view;
    struct fit *fit = w->fit;
    size_t first = fit_window_of(w, 0, i), second = fit_window_of(w, 1, i);
    double cut = fit_cut_of(w, i);
    uint32_t before = FIT_NOWHERE;
    if (own->before != FIT_NOWHERE)
        before = links_of(v, fit, i - 1, own->before).before;
    bool same = a == b && (before == FIT_NOWHERE || fit->of[before] == a) &&
                (own->after == FIT_NOWHERE || fit->of[own->after] == a);
    if (same) {
        add_same(fit, first, a, fit_to_tick(cpu_ns * cut));
        if (first != second)
            add_same(fit, second, a, fit_to_tick(cpu_ns * (1 - cut)));
        return;
    }
    struct line lines[FIT_ESTIMATES];
    draw_lines(w, i, own, a, b, before, lines);
    add_lines(fit, first, lines, cpu_ns, 0, cut);
    if (first != second)
        add_lines(fit, second, lines, cpu_ns, cut, 1);
    fit_count_switch(fit, a, b, cpu_ns);
}

static void add_thread_sample(struct fit_windows *w, size_t i, size_t k)
{
    const struct fit_view *v = w->view;
    double cpu_ns = v->cpu_ns[k];
    const struct stretch_use *use = v->uses != NULL ? &v->uses[k] : NULL;
    if (use != NULL)
        w->fit->paired[k] = true;
    uint16_t b = w->fit->of[k], a = b;
    if (!(cpu_ns > 0) || !(v->stretch->ns[i] > 0))
        return;
    struct link own = links_of(v, w->fit, i, k);
    if (w->own) /* the interval does not show when the CPU time was used */
        own = (struct link){FIT_NOWHERE, FIT_NOWHERE, false};
    if (own.before != FIT_NOWHERE)
        a = w->fit->of[own.before];
    else if (own.shares && use != NULL)
        a = w->fit->of[use->before];
    size_t reach = use != NULL ? reach_of(w, k) : 1;
    if (reach > MAX_REACH)
        give_up(w, i, reach, b, cpu_ns);
    else if (reach > 1)
        spread(w, i, reach, a, b, cpu_ns);
    else
        add_between(w, i, &own, a, b, cpu_ns);
    if (use != NULL && reach == 1 && !own.shares)
        pair_up(w, i, k);
    if (w->own)
        look_back(w, i, k);
}

/* ---- threads that are in every sample ---- */

/* The part of the surrounding intervals that a sample gets: WHOLE from the line through all
 * samples, HALF from the line through every other sample, including this one. */
struct part {
    double whole, half;
};

/* Follows a thread through the samples. The functions that use it are inlined, to keep it in
 * registers. */
struct walk {
    const uint16_t *of;                       /* column of sample i: of[STEP * i] */
    size_t step, window;                      /* WINDOW: of all parts */
    struct part before, first, second, after; /* the interval is from FIRST to SECOND */
    double sum[FIT_ESTIMATES];                /* of earlier samples, all in COLUMN */
    uint16_t column;
};

static void put_sum(struct fit *fit, size_t window, uint16_t column, double whole, double even,
                    double odd)
{
    if (whole == 0 && even == 0 && odd == 0)
        return;
    double *cpu = fit_entry_of(fit, window, column);
    cpu[0] += whole;
    cpu[1] += even;
    cpu[2] += odd;
}

/* Adds the sum to its entry. */
INLINE void end_sum(struct walk *walk, struct fit *fit)
{
    put_sum(fit, walk->window, walk->column, walk->sum[0], walk->sum[1], walk->sum[2]);
    walk->sum[0] = walk->sum[1] = walk->sum[2] = 0;
}

/* Adds the part that sample I got. */
INLINE void leave(struct walk *walk, struct fit *fit, size_t i, struct part part)
{
    if (part.whole == 0 && part.half == 0)
        return;
    uint16_t column = walk->of[walk->step * i];
    if (column != walk->column)
        end_sum(walk, fit);
    walk->column = column;
    walk->sum[0] += part.whole;
    walk->sum[1] += i % 2 == 0 ? part.half : 0;
    walk->sum[2] += i % 2 == 0 ? 0 : part.half;
}

/* Adds the parts that the samples around interval I got. */
INLINE void leave_all(struct walk *walk, struct fit *fit, size_t i)
{
    leave(walk, fit, i - 2, walk->before);
    leave(walk, fit, i - 1, walk->first);
    leave(walk, fit, i, walk->second);
    leave(walk, fit, i + 1, walk->after);
    walk->before = walk->first = walk->second = walk->after = (struct part){0, 0};
}

/* Moves on to WINDOW before, within or after the interval that ends with sample I. */
INLINE void change_window(struct walk *walk, struct fit *fit, size_t i, size_t window)
{
    leave_all(walk, fit, i);
    end_sum(walk, fit);
    walk->window = window;
}

/* Adds the part of interval I from BEGIN to END. SLOPE: see fit_find_slopes. */
INLINE void add_part(struct walk *walk, const double *slope, size_t i, double cpu_ns, double begin,
                     double end)
{
    double middle = (begin + end) / 2, low = slope[i], high = slope[i + 1];
    double cpu = cpu_ns * (end - begin), all = fit_to_tick(cpu);
    double to = fit_to_tick(cpu * middle), early = fit_to_tick(cpu * (low + middle * (1 - low))),
           late = fit_to_tick(cpu * (middle * high));
    walk->before.half += all - early;
    walk->first.whole += all - to;
    walk->first.half += all - late;
    walk->second.whole += to;
    walk->second.half += early;
    walk->after.half += late;
}

/* Returns whether interval I is in the current window as a whole, and has the same row as those
 * around it. */
INLINE bool is_steady(const struct walk *walk, const struct fit_windows *w, size_t i)
{
    const uint16_t *before = walk->of + walk->step * (i - 2), *of = before + 2 * walk->step;
    size_t n = walk->step;
    return fit_window_of(w, 0, i) == walk->window && fit_window_of(w, 1, i) == walk->window &&
           *before == *of && before[n] == *of && of[n] == *of;
}

/* Adds steady intervals, starting at I. Returns the number of the last. */
INLINE size_t add_run(struct walk *walk, const struct fit_windows *w, size_t i,
                      const double *cpu_ns)
{
    const struct stretch *s = w->view->stretch;
    const uint16_t *of = walk->of;
    size_t n = walk->step;
    uint16_t own = of[n * i];
    double sum = 0;
    leave_all(walk, w->fit, i);
    if (walk->column != own)
        end_sum(walk, w->fit);
    walk->column = own;
    for (bool more = true; more; i++) {
        sum += fit_to_tick(cpu_ns[n * i]);
        more = i + 2 < s->count && of[n * (i + 2)] == own && w->in[0][i + 1] == walk->window &&
               w->in[1][i + 1] == walk->window && cpu_ns[n * (i + 1)] > 0 && s->ns[i + 2] > 0;
    }
    for (size_t e = 0; e < FIT_ESTIMATES; e++)
        walk->sum[e] += sum;
    return i - 1;
}

INLINE void add_interval(struct walk *walk, const struct fit_windows *w, const double *slope,
                         size_t i, double cpu_ns)
{
    const uint16_t *before = walk->of + walk->step * (i - 2), *of = before + 2 * walk->step;
    size_t first = fit_window_of(w, 0, i), second = fit_window_of(w, 1, i), n = walk->step;
    if (first != walk->window)
        change_window(walk, w->fit, i, first);
    double cut = first == second ? 1 : fit_cut_of(w, i);
    add_part(walk, slope, i, cpu_ns, 0, cut);
    if (first != second) {
        change_window(walk, w->fit, i, second);
        add_part(walk, slope, i, cpu_ns, cut, 1);
    }
    fit_count_switch(w->fit, before[n], *of, cpu_ns);
}

/* Adds thread J of N, all of which are in every sample. */
INLINE void add_thread(struct fit_windows *w, const double *slope, size_t j, size_t n)
{
    const struct stretch *s = w->view->stretch;
    const double *cpu_ns = w->view->cpu_ns + j;
    struct walk walk = {.of = w->fit->of + j, .step = n};
    size_t ran = 0; /* successive samples up to this one */
    for (size_t i = 0; i < s->count; i++) {
        ran = cpu_ns[n * i] > 0 && s->ns[i] > 0 ? ran + 1 : 0;
        bool regular = ran > 2 && i + 1 < s->count && s->ns[i + 1] > 0;
        if (regular && is_steady(&walk, w, i)) {
            i = add_run(&walk, w, i, cpu_ns);
            continue;
        }
        if (regular)
            add_interval(&walk, w, slope, i, cpu_ns[n * i]);
        else if (ran > 0)
            add_thread_sample(w, i, n * i + j);
        leave(&walk, w->fit, i - 2, walk.before);
        walk.before = walk.first;
        walk.first = walk.second;
        walk.second = walk.after;
        walk.after = (struct part){0, 0};
    }
    change_window(&walk, w->fit, s->count, 0);
}

static void add_threads(struct fit_windows *w)
{
    const struct stretch *s = w->view->stretch;
    double slope[STRETCH + 1];
    size_t n = w->view->threads[0];
    fit_find_slopes(s->ns, s->count, slope);
    if (n == 1)
        add_thread(w, slope, 0, 1);
    for (size_t j = 0; j < n && n > 1; j++)
        add_thread(w, slope, j, n);
}

/* Adds the intervals that fit_add_regular leaves out. */
static void add_ends(struct fit_windows *w)
{
    size_t n = w->view->threads[0], count = w->view->stretch->count;
    for (size_t i = 0; i < count; i = i + 1 == FIT_REGULAR_FROM ? count - FIT_REGULAR_END : i + 1)
        for (size_t j = 0; j < n; j++)
            add_thread_sample(w, i, n * i + j);
}

static void add_samples(struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    if (v->uses == NULL)
        add_threads(w);
    for (size_t i = 0, k = 0; i < v->stretch->count && v->uses != NULL; i++) {
        bool counts = v->counts == NULL || v->counts[i];
        for (size_t end = k + v->threads[i]; k < end; k++)
            if (counts)
                add_thread_sample(w, i, k);
    }
}

VECTORS
static bool any_from(const uint32_t *row, size_t count, size_t from)
{
    uint32_t any = 0, limit = from < UINT32_MAX ? (uint32_t)from : UINT32_MAX;
    for (size_t k = 0; k < count; k++)
        any |= (uint32_t)(row[k] >= limit);
    return any != 0;
}

VECTORS
static bool any_without(const uint16_t *column, size_t count)
{
    uint16_t any = 0;
    for (size_t k = 0; k < count; k++)
        any |= (uint16_t)(column[k] == FIT_NONE);
    return any != 0;
}

/* Most stretches have no new rows, so that all rows are checked at once first. */
static void find_columns(struct fit *fit, const struct fit_view *v)
{
    enum { STEP = 8 };
    size_t count = v->thread_samples, k = 0;
    if (!any_from(v->row, count, fit->rows)) {
        for (; k + STEP <= count; k += STEP)
            for (size_t l = 0; l < STEP; l++)
                fit->of[k + l] = fit->column_of[v->row[k + l]];
        k = any_without(fit->of, k) ? 0 : k;
    }
    for (; k < count; k++)
        fit->of[k] = fit_column(fit, v->row[k]);
}

static void link_threads(struct fit *fit, const struct fit_view *v)
{
    mem_reserve(&fit->of, &fit->of_capacity, v->thread_samples + 1, sizeof *fit->of);
    find_columns(fit, v);
    for (size_t k = 0; k < v->thread_samples && v->waits != NULL; k++)
        fit->of[k] = v->waits[k] ? FIT_WAITS : fit->of[k];
    if (v->uses == NULL)
        return;
    mem_reserve(&fit->after, &fit->after_capacity, v->thread_samples + 1, sizeof *fit->after);
    mem_reserve(&fit->sample, &fit->sample_capacity, v->thread_samples + 1, sizeof *fit->sample);
    mem_reserve(&fit->paired, &fit->paired_capacity, v->thread_samples + 1, sizeof *fit->paired);
    for (size_t i = 0, k = 0; i < v->stretch->count; i++)
        for (size_t end = k + v->threads[i]; k < end; k++) {
            fit->after[k] = FIT_NOWHERE;
            fit->sample[k] = (uint32_t)i;
            if (v->uses[k].before != SIZE_MAX)
                fit->after[v->uses[k].before] = (uint32_t)k;
        }
}

void fit_add_lines(struct fit_windows *w)
{
    link_threads(w->fit, w->view);
    if (w->seen)
        fit_excess_add(&w->fit->excess, w->view->stretch->ns, w->fit->of, w->view->threads[0],
                       w->view->stretch->count);
    bool regular = !w->seen && fit_is_regular(w);
    if (w->scattered || w->divided)
        fit_scattered_add(w);
    else if (!regular && w->own && w->view->uses == NULL)
        fit_own_add_threads(w);
    else if (!regular)
        add_samples(w);
    if (!regular)
        return;
    if (!w->own)
        add_ends(w);
    fit_add_regular(w);
}
