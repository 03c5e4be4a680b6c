/* The windows of a stretch, with the CPU time of each row in them.
 *
 *   PC of sample   i-2        i-1         i        i+1
 *   interval i      |----------|===:=======|---------|     a row's part falls in a straight line from the sample where
 *                                                           it was seen to the next, where another one was
 * The line is drawn through all samples, through those with even numbers, and through those with odd numbers. The window
 * may change within the interval.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit.h"

#include <math.h>
#include <string.h>

#include "analyze/attribute/weigh.h"
#include "base/memory.h"

/* CPU time that was used over more intervals than this is not assigned to windows. */
enum { MAX_REACH = 64 };
#define NOWHERE UINT32_MAX

/* The CPU time of a column in a window [ns]. */
struct fit_entry {
    double cpu[FIT_ESTIMATES];
    uint32_t next;
    uint16_t column;
};

/* The windows of a stretch. */
struct windows {
    const struct fit_view *view;
    struct fit *fit;
    enum fit_mode mode;
    size_t count;
    double ns[STRETCH_WINDOWS];
    bool bad[STRETCH_WINDOWS];
    uint16_t last[STRETCH_WINDOWS]; /* sample */
    const uint16_t *in[2];          /* [samples]: window of each half */
    const double *energy;           /* [J] */
    bool exact; /* where CPU times were averages, windows were joined until they are not */
    uint16_t whole[STRETCH];     /* IN if windows are intervals, or all of the stretch */
    uint16_t joined[2][STRETCH]; /* IN if windows were joined */
    double all[STRETCH_WINDOWS]; /* ENERGY in these cases */
};

/* To the nearest part of FIT_TICK, so that sums are the same in any order. */
static inline double to_tick(double ns)
{
    const double large = 0x1.8p52 / FIT_TICK;
    return ns + large - large;
}

static inline size_t window_of(const struct windows *w, int half, size_t i)
{
    return w->in[half][i];
}

/* The part of interval I that is in its first window. */
static inline double cut_of(const struct windows *w, size_t i)
{
    if (window_of(w, 0, i) == window_of(w, 1, i))
        return 1;
    return w->mode == FIT_LEAPS ? 0.5 : w->view->stretch->cut[i];
}

static enum fit_mode mode_of(const struct stretch *s)
{
    if (s->updates > 0)
        return s->leaps ? FIT_LEAPS : FIT_POWERS;
    bool constant =
        s->count < 2 || fabs(s->rate[1] - s->rate[0]) <= STRETCH_SAME_POWER * fabs(s->rate[1]);
    return constant ? FIT_POWERS : FIT_EACH;
}

static void leave_out(struct windows *w)
{
    for (size_t i = 0; i < w->view->stretch->count && w->view->counts != NULL; i++)
        if (!w->view->counts[i])
            w->bad[window_of(w, 0, i)] = w->bad[window_of(w, 1, i)] = true;
}

/* ---- averages ---- */

/* A sampler may know CPU times only as averages over several samples, in which the program did not run all the time:
 * these have equal CPU times. Windows of the sensor that end in between have one CPU time together, and become one. So do
 * windows without a sample, whose CPU time is with the next sample then. */

enum {
    MAX_AVERAGED = STRETCH / 2 /* samples; CPU times that are always the same are not averages */
};

/* Successive samples with the same CPU time. */
struct average {
    size_t first, last, samples; /* of those that have CPU time */
    double cpu_ns, ns;           /* of each; time after FIRST up to LAST */
};

static double most_cpu(const struct fit_view *v, size_t i, size_t k)
{
    double most = 0;
    for (size_t end = k + v->threads[i]; k < end; k++)
        most = fmax(most, v->cpu_ns[k]);
    return most;
}

/* Did the program not run all the time? */
static bool is_average(const struct average *a)
{
    double ran = a->cpu_ns * (double)(a->samples - 1);
    return a->samples > 1 && a->last - a->first < MAX_AVERAGED && fabs(a->ns - ran) > ran / 100;
}

static void join_average(const struct windows *w, const struct average *a, bool *with_next)
{
    for (size_t n = window_of(w, 0, a->first); n < window_of(w, 1, a->last); n++)
        with_next[n] = true;
}

/* Finds the windows that continue with the next. Returns whether any do. */
static bool find_averages(const struct windows *w, bool *with_next)
{
    const struct stretch *s = w->view->stretch;
    bool used[STRETCH_WINDOWS] = {false}, any = false;
    struct average a = {.samples = 0};
    double ns = 0;
    for (size_t i = 0, k = 0; i < s->count; k += w->view->threads[i++]) {
        double cpu_ns = most_cpu(w->view, i, k);
        ns += s->ns[i];
        if (cpu_ns <= 0)
            continue;
        used[window_of(w, 0, i)] = used[window_of(w, 1, i)] = true;
        if (a.samples > 0 && fabs(cpu_ns - a.cpu_ns) <= 2) {
            a.ns += ns;
            a.last = i;
            a.samples++;
        } else {
            if (is_average(&a))
                join_average(w, &a, with_next), any = true;
            a = (struct average){.first = i, .last = i, .samples = 1, .cpu_ns = cpu_ns};
        }
        ns = 0;
    }
    if (is_average(&a))
        join_average(w, &a, with_next), any = true;
    for (size_t n = 0; n + 1 < w->count && any; n++)
        with_next[n] |= !used[n];
    return any;
}

enum { FEW_SAMPLES = 3, ENOUGH_SAMPLES = 8 };

/* Windows that have hardly more than a sample: where functions change is as uncertain as the windows are long, and where
 * windows end is, too. Several together lose little. Returns whether there are any. */
static bool find_short(const struct windows *w, bool *with_next)
{
    const struct stretch *s = w->view->stretch;
    if (s->count >= FEW_SAMPLES * w->count)
        return false;
    size_t samples = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t first = window_of(w, 0, i), second = window_of(w, 1, i);
        samples++;
        for (size_t n = first; n < second; n++)
            with_next[n] |= samples < ENOUGH_SAMPLES;
        bool ends = i + 1 < s->count && window_of(w, 0, i + 1) > second;
        if (ends)
            with_next[second] |= samples < ENOUGH_SAMPLES;
        if ((ends && !with_next[second]) || (first < second && !with_next[second - 1]))
            samples = 0;
    }
    return true;
}

static void join_windows(struct windows *w)
{
    const struct stretch *s = w->view->stretch;
    bool with_next[STRETCH_WINDOWS] = {false};
    uint16_t number[STRETCH_WINDOWS], last = 0;
    w->exact = false;
    if (w->count < 2)
        return;
    w->exact = find_averages(w, with_next);
    if (find_short(w, with_next))
        w->exact = false;
    else if (!w->exact)
        return;
    memset(w->joined, 0, sizeof w->joined);
    for (size_t n = 0; n < w->count; n++) {
        double before = n > 0 && with_next[n - 1] ? w->all[last] : 0;
        last = (uint16_t)(n > 0 && !with_next[n - 1] ? last + 1 : last);
        number[n] = last;
        w->all[last] = before + w->energy[n];
    }
    for (size_t i = 0; i < s->count; i++)
        for (int half = 0; half < 2; half++)
            w->joined[half][i] = number[window_of(w, half, i)];
    w->energy = w->all;
    w->in[0] = w->joined[0];
    w->in[1] = w->joined[1];
    w->count = (size_t)last + 1;
}

/* ---- windows ---- */

static void choose_windows(struct windows *w)
{
    const struct stretch *s = w->view->stretch;
    w->mode = mode_of(s);
    w->count = w->mode == FIT_EACH ? s->count : s->updates > 0 ? s->windows.count : 1;
    w->energy = w->mode == FIT_EACH ? s->energy : s->updates > 0 ? s->windows.energy : w->all;
    w->in[0] = s->updates > 0 ? s->in[0] : w->whole;
    w->in[1] = s->updates > 0 ? s->in[1] : w->whole;
    memset(w->whole, 0, sizeof w->whole);
    w->all[0] = 0;
    for (size_t i = 0; i < s->count; i++) {
        w->whole[i] = w->mode == FIT_EACH ? (uint16_t)i : 0;
        w->all[0] += s->energy[i];
    }
    join_windows(w);
}

static void find_windows(struct windows *w)
{
    const struct stretch *s = w->view->stretch;
    choose_windows(w);
    memset(w->ns, 0, w->count * sizeof w->ns[0]);
    memset(w->bad, 0, w->count * sizeof w->bad[0]);
    memset(w->fit->head, 0xff, w->count * sizeof w->fit->head[0]);
    memset(w->last, 0, w->count * sizeof w->last[0]);
    for (size_t i = 0; i < s->count; i++) {
        size_t first = window_of(w, 0, i), second = window_of(w, 1, i);
        if (first == second) {
            w->ns[first] += s->ns[i];
        } else {
            w->ns[first] += to_tick(s->ns[i] * cut_of(w, i));
            w->ns[second] += to_tick(s->ns[i] * (1 - cut_of(w, i)));
            w->last[first] = (uint16_t)i;
        }
        w->last[second] = (uint16_t)i;
    }
    leave_out(w);
}

/* ---- CPU times ---- */

static inline double *entry_of(struct fit *fit, size_t window, uint16_t column)
{
    uint32_t at = fit->head[window];
    while (at != NOWHERE && fit->entries[at].column != column)
        at = fit->entries[at].next;
    if (at == NOWHERE) {
        if (fit->entry_count == fit->entry_capacity)
            mem_reserve(&fit->entries, &fit->entry_capacity, fit->entry_count + 1,
                        sizeof *fit->entries);
        at = (uint32_t)fit->entry_count++;
        fit->entries[at] = (struct fit_entry){.column = column, .next = fit->head[window]};
        fit->head[window] = at;
    }
    return fit->entries[at].cpu;
}

/* CPU time in the same row by all estimates. */
static inline void add_same(struct fit *fit, size_t window, uint16_t column, double cpu_ns)
{
    double *cpu = entry_of(fit, window, column);
    for (size_t e = 0; e < FIT_ESTIMATES; e++)
        cpu[e] += cpu_ns;
}

/* A straight line from row FROM to row TO, of which an interval has the part from LOW to HIGH. */
struct line {
    uint16_t from, to;
    double low, high;
};

/* The part of an interval from BEGIN to END, which is in one window. */
static void add_lines(struct fit *fit, size_t window, const struct line *lines, double cpu_ns,
                      double begin, double end)
{
    for (size_t e = 0; e < FIT_ESTIMATES; e++) {
        const struct line *l = &lines[e];
        double middle = l->low + (begin + end) / 2 * (l->high - l->low);
        double cpu = cpu_ns * (end - begin);
        entry_of(fit, window, l->from)[e] += to_tick(cpu * (1 - middle));
        entry_of(fit, window, l->to)[e] += to_tick(cpu * middle);
    }
}

/* Thread sample K is in sample I; NOWHERE: there is none. */
struct link {
    uint32_t before, after; /* thread samples of the same thread, in the samples before and after */
    bool shares;            /* its first half is of the row before */
};

static inline __attribute__((always_inline)) struct link
links_of(const struct fit_view *v, const struct fit *fit, size_t i, size_t k)
{
    struct link l = {NOWHERE, NOWHERE, false};
    if (v->uses == NULL) {
        size_t n = v->threads[0];
        l.shares = i > 0 && v->cpu_ns[k - n] > 0;
        l.before = l.shares ? (uint32_t)(k - n) : NOWHERE;
        l.after = i + 1 < v->stretch->count && v->cpu_ns[k] > 0 ? (uint32_t)(k + n) : NOWHERE;
        return l;
    }
    size_t before = v->uses[k].before;
    l.shares = before != SIZE_MAX;
    l.before = l.shares && fit->sample[before] + 1 == i ? (uint32_t)before : NOWHERE;
    l.after =
        fit->after[k] != NOWHERE && fit->sample[fit->after[k]] == i + 1 ? fit->after[k] : NOWHERE;
    return l;
}

/* The lines through every other sample, for an interval whose ends are in rows A and B. */
static void draw_lines(const struct windows *w, size_t i, const struct link *own, uint16_t a,
                       uint16_t b, uint32_t before, struct line *lines)
{
    const struct stretch *s = w->view->stretch;
    const uint16_t *of = w->fit->of;
    struct line whole = {a, b, 0, 1};
    lines[0] = lines[1] = lines[2] = whole;
    size_t early = 1 + i % 2, late = 3 - early; /* which keep sample i, and the one before it */
    if (before != NOWHERE && s->ns[i - 1] > 0)
        lines[early] = (struct line){of[before], b, s->ns[i - 1] / (s->ns[i - 1] + s->ns[i]), 1};
    if (own->after != NOWHERE && s->ns[i + 1] > 0)
        lines[late] = (struct line){a, of[own->after], 0, s->ns[i] / (s->ns[i] + s->ns[i + 1])};
}

static void count_switch(struct fit *fit, uint16_t a, uint16_t b, double cpu_ns)
{
    double square = rint(cpu_ns * cpu_ns);
    if (a == b || !exact_fits(square, 0, 32))
        return;
    fit_put(fit, &fit->switched[a], exact_of_double(square, 0));
    fit_put(fit, &fit->switched[b], exact_of_double(square, 0));
}

/* CPU time that was used in several intervals: spread over them, half to each row. */
static void spread(struct windows *w, size_t i, size_t reach, uint16_t a, uint16_t b, double cpu_ns)
{
    const struct stretch *s = w->view->stretch;
    double ns = 0;
    for (size_t q = i + 1 - reach; q <= i; q++)
        ns += s->ns[q];
    for (size_t q = i + 1 - reach; q <= i && ns > 0; q++) {
        double part = cpu_ns * s->ns[q] / ns / 2, cut = cut_of(w, q);
        size_t first = window_of(w, 0, q), second = window_of(w, 1, q);
        add_same(w->fit, first, a, to_tick(part * cut));
        add_same(w->fit, first, b, to_tick(part * cut));
        if (first != second) {
            add_same(w->fit, second, a, to_tick(part * (1 - cut)));
            add_same(w->fit, second, b, to_tick(part * (1 - cut)));
        }
    }
}

/* The same for so many that windows do not show which: it only counts in the sum. */
static void give_up(struct windows *w, size_t i, size_t reach, uint16_t column, double cpu_ns)
{
    add_same(w->fit, window_of(w, 1, i), column, cpu_ns);
    for (size_t q = i + 1 - reach; q <= i; q++)
        w->bad[window_of(w, 0, q)] = w->bad[window_of(w, 1, q)] = true;
}

/* A thread sample that does not follow another at once has its CPU time for itself, which is the more of chance. Two
 * successive ones of a thread in one window are a sample of odd and one of even number: each has the CPU time of both. */
static void pair_up(struct windows *w, size_t i, size_t k)
{
    const struct fit_view *v = w->view;
    struct fit *fit = w->fit;
    uint32_t p = v->uses[k].previous;
    fit->paired[k] = p != STRETCH_NONE && !fit->paired[p] && v->cpu_ns[p] > 0;
    if (!fit->paired[k])
        return;
    size_t before = fit->sample[p], window = window_of(w, 0, i);
    fit->paired[k] = v->uses[p].reach == 1 && window == window_of(w, 1, i) &&
                     window == window_of(w, 0, before) && window == window_of(w, 1, before);
    if (!fit->paired[k])
        return;
    uint16_t a = fit->of[p], b = fit->of[k];
    double first = to_tick(v->cpu_ns[p]), second = to_tick(v->cpu_ns[k]);
    entry_of(fit, window, a)[1] += second;
    entry_of(fit, window, b)[1] -= second;
    entry_of(fit, window, b)[2] += first;
    entry_of(fit, window, a)[2] -= first;
    count_switch(fit, a, b, sqrt(8 * first * second));
}

static void add_between(struct windows *w, size_t i, const struct link *own, uint16_t a, uint16_t b,
                        double cpu_ns)
{
    const struct fit_view *v = w->view;
    struct fit *fit = w->fit;
    size_t first = window_of(w, 0, i), second = window_of(w, 1, i);
    double cut = cut_of(w, i);
    uint32_t before = NOWHERE;
    if (own->before != NOWHERE)
        before = links_of(v, fit, i - 1, own->before).before;
    bool same = a == b && (before == NOWHERE || fit->of[before] == a) &&
                (own->after == NOWHERE || fit->of[own->after] == a);
    if (same) {
        add_same(fit, first, a, to_tick(cpu_ns * cut));
        if (first != second)
            add_same(fit, second, a, to_tick(cpu_ns * (1 - cut)));
        return;
    }
    struct line lines[FIT_ESTIMATES];
    draw_lines(w, i, own, a, b, before, lines);
    add_lines(fit, first, lines, cpu_ns, 0, cut);
    if (first != second)
        add_lines(fit, second, lines, cpu_ns, cut, 1);
    count_switch(fit, a, b, cpu_ns);
}

static void add_thread_sample(struct windows *w, size_t i, size_t k)
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
    if (own.before != NOWHERE)
        a = w->fit->of[own.before];
    else if (own.shares && use != NULL)
        a = w->fit->of[use->before];
    size_t reach = use != NULL ? use->reach : 1;
    if (reach > MAX_REACH)
        give_up(w, i, reach, b, cpu_ns);
    else if (reach > 1)
        spread(w, i, reach, a, b, cpu_ns);
    else
        add_between(w, i, &own, a, b, cpu_ns);
    if (use != NULL && reach == 1 && !own.shares)
        pair_up(w, i, k);
}

/* CPU time that is added up before it is added to a window. */
struct sum {
    size_t window;
    uint16_t column;
    double cpu_ns;
};

static inline void put_sum(struct fit *fit, struct sum *sum, size_t window, uint16_t column)
{
    if (sum->cpu_ns > 0)
        add_same(fit, sum->window, sum->column, sum->cpu_ns);
    *sum = (struct sum){window, column, 0};
}

/* Thread number J of N in every sample: most of its samples are in the same row as those around them, and their intervals
 * in one window. */
static void add_thread(struct windows *w, size_t j, size_t n)
{
    const struct stretch *s = w->view->stretch;
    const double *cpu_ns = w->view->cpu_ns + j;
    const uint16_t *of = w->fit->of + j;
    const bool *counts = w->view->counts;
    struct sum sum = {SIZE_MAX, 0, 0};
    for (size_t i = 0, k = 0; i < s->count; i++, k += n) {
        uint16_t own = of[k];
        size_t first = window_of(w, 0, i);
        bool same = i >= 2 && i + 1 < s->count && of[k - n] == own && of[k - 2 * n] == own &&
                    of[k + n] == own && first == window_of(w, 1, i);
        if (counts != NULL && !counts[i])
            continue;
        if (!same) {
            add_thread_sample(w, i, k + j);
            continue;
        }
        if (first != sum.window || own != sum.column)
            put_sum(w->fit, &sum, first, own);
        sum.cpu_ns += s->ns[i] > 0 ? to_tick(cpu_ns[k]) : 0;
    }
    put_sum(w->fit, &sum, SIZE_MAX, 0);
}

static void add_samples(struct windows *w)
{
    const struct fit_view *v = w->view;
    if (v->uses == NULL)
        for (size_t j = 0; j < v->threads[0]; j++)
            add_thread(w, j, v->threads[0]);
    for (size_t i = 0, k = 0; i < v->stretch->count && v->uses != NULL; i++) {
        bool counts = v->counts == NULL || v->counts[i];
        for (size_t end = k + v->threads[i]; k < end; k++)
            if (counts)
                add_thread_sample(w, i, k);
    }
}

static void link_threads(struct fit *fit, const struct fit_view *v)
{
    mem_reserve(&fit->of, &fit->of_capacity, v->thread_samples + 1, sizeof *fit->of);
    for (size_t k = 0; k < v->thread_samples; k++)
        fit->of[k] = v->row[k] < fit->rows && fit->column_of[v->row[k]] != FIT_NONE
                         ? fit->column_of[v->row[k]]
                         : fit_column(fit, v->row[k]);
    if (v->uses == NULL)
        return;
    mem_reserve(&fit->after, &fit->after_capacity, v->thread_samples + 1, sizeof *fit->after);
    mem_reserve(&fit->sample, &fit->sample_capacity, v->thread_samples + 1, sizeof *fit->sample);
    mem_reserve(&fit->paired, &fit->paired_capacity, v->thread_samples + 1, sizeof *fit->paired);
    for (size_t i = 0, k = 0; i < v->stretch->count; i++)
        for (size_t end = k + v->threads[i]; k < end; k++) {
            fit->after[k] = NOWHERE;
            fit->sample[k] = (uint32_t)i;
            if (v->uses[k].before != SIZE_MAX)
                fit->after[v->uses[k].before] = (uint32_t)k;
        }
}

/* ---- to integers ---- */

#define TICK (((exact)1 << TIME_SHIFT) / FIT_TICK)

/* [1/FIT_TICK ns]; *BAD if there are too many. */
static int64_t to_ticks(double ns, bool *bad)
{
    if (!(ns < 0x1p50))
        *bad = true;
    return *bad ? 0 : (int64_t)(ns * FIT_TICK + 0.5);
}

/* The first or the last window of a stretch, which may go on in others. */
static void extend_open(struct windows *w, size_t n)
{
    struct fit *fit = w->fit;
    uint64_t end = w->view->number + w->last[n];
    double joule = w->energy[n];
    bool bad = w->bad[n];
    int64_t ns = to_ticks(w->ns[n], &bad);
    exact energy = is_summable(joule) ? exact_of_double(joule, ENERGY_SHIFT) : 0;
    fit_extend(fit, ns, energy, end, bad);
    for (uint32_t e = fit->head[n]; e != NOWHERE; e = fit->entries[e].next) {
        int64_t cpu[FIT_ESTIMATES];
        for (size_t x = 0; x < FIT_ESTIMATES; x++)
            cpu[x] = to_ticks(fit->entries[e].cpu[x], &bad);
        fit_extend_cpu(fit, fit->entries[e].column, cpu);
    }
    if (bad)
        fit_extend(fit, 0, 0, end, true);
}

/* Any other window. Entries of a window are in an order that depends on the order of samples alone. */
static void take_inner(struct windows *w, size_t n)
{
    struct fit *fit = w->fit;
    uint16_t column[FIT_COLUMNS];
    double cpu[FIT_COLUMNS][FIT_ESTIMATES];
    struct fit_inner inner = {.ns = w->ns[n],
                              .energy = w->energy[n],
                              .end = w->view->number + w->last[n],
                              .column = column,
                              .cpu = (const double(*)[FIT_ESTIMATES])cpu};
    for (uint32_t e = fit->head[n]; e != NOWHERE; e = fit->entries[e].next) {
        column[inner.count] = fit->entries[e].column;
        memcpy(cpu[inner.count++], fit->entries[e].cpu, sizeof cpu[0]);
    }
    if (!w->bad[n] && is_summable(inner.energy))
        fit_take_inner(fit, &inner);
}

/* The CPU time of all windows. */
static void add_totals(struct windows *w)
{
    struct fit *fit = w->fit;
    double total[FIT_COLUMNS] = {0};
    for (size_t e = 0; e < fit->entry_count; e++)
        total[fit->entries[e].column] += fit->entries[e].cpu[0];
    for (size_t n = 0; n < w->count; n++)
        total[FIT_TIME] += w->ns[n];
    for (size_t c = 0; c < fit->columns; c++) {
        bool bad = false;
        fit_put(fit, &fit->cpu[c], to_ticks(total[c], &bad) * TICK);
    }
}

static void end_of_stretch(struct windows *w)
{
    struct fit *fit = w->fit;
    for (size_t n = 0; n < w->count; n++) {
        if (n > 0 && n + 1 < w->count) {
            take_inner(w, n);
            continue;
        }
        extend_open(w, n);
        if (n + 1 < w->count)
            fit_end_window(fit, false);
    }
    fit_end_block(fit);
    add_totals(w);
    fit->entry_count = 0;
    fit->mode = w->mode;
    fit->rate = w->view->stretch->rate[w->view->stretch->count - 1];
}

/* CPU times that are averages over several windows. */
static void look_for_averages(const struct windows *w)
{
    struct fit *fit = w->fit;
    const struct fit_view *v = w->view;
    const double *ns = v->stretch->ns;
    size_t n = v->threads[0];
    for (size_t i = 1, k = n; i < v->stretch->count && v->uses == NULL; i++) {
        bool within = w->exact && window_of(w, 0, i - 1) == window_of(w, 1, i);
        for (size_t end = k + n; k < end; k++) {
            bool runs = v->cpu_ns[k] > 0 && v->cpu_ns[k - n] > 0;
            fit->running += runs;
            fit->averaged += runs && fabs(v->cpu_ns[k] - v->cpu_ns[k - n]) <= 1 &&
                             fabs(ns[i] - ns[i - 1]) > ns[i] / 100 && !within;
        }
    }
}

void fit_add_stretch(struct fit *fit, const struct fit_view *view)
{
    struct windows w;
    w.fit = fit;
    w.view = view;
    if (view->stretch->count == 0)
        return;
    find_windows(&w);
    fit_cross_edge(fit, w.mode, view->stretch->rate[0]);
    link_threads(fit, view);
    add_samples(&w);
    look_for_averages(&w);
    end_of_stretch(&w);
}
