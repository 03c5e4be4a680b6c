/* The windows of a stretch.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_windows.h"

#include <math.h>
#include <string.h>

#include "analyze/attribute/weigh.h"
#include "base/bytes.h"
#include "base/vectors.h"

static enum fit_mode mode_of(const struct stretch *s)
{
    if (s->updates > 0)
        return s->leaps ? FIT_LEAPS : FIT_POWERS;
    bool constant = s->count < 2 || stretch_same_power(s->rate[0], s->rate[1]);
    return constant ? FIT_POWERS : FIT_EACH;
}

static void leave_out(struct fit_windows *w)
{
    for (size_t i = 0; i < w->view->stretch->count && w->view->counts != NULL; i++)
        if (!w->view->counts[i])
            w->bad[fit_window_of(w, 0, i)] = w->bad[fit_window_of(w, 1, i)] = true;
}

/* ---- averages ---- */

/* A sampler may know CPU times only as averages over several samples between which the program did
 * not run all the time; these samples have equal CPU times. Only the total CPU time of the windows
 * that end in between is known, so they are joined into one. Windows without a sample are also
 * joined, because their CPU time is part of the next sample. */

enum {
    MAX_AVERAGED = STRETCH / 2 /* samples; CPU times that never change are not averages */
};

/* Successive samples with the same CPU time. */
struct average {
    size_t first, last, samples; /* of those that have CPU time */
    double cpu_ns, ns;           /* of each sample; time between FIRST and LAST */
};

static double most_cpu(const struct fit_view *v, size_t i, size_t k)
{
    double most = 0;
    for (size_t end = k + v->threads[i]; k < end; k++)
        most = v->cpu_ns[k] > most ? v->cpu_ns[k] : most;
    return most;
}

static bool are_alike(double cpu_ns, double other)
{
    return fabs(cpu_ns - other) <= FIT_ALIKE;
}

/* Returns whether the program did not run all the time. */
static bool is_average(const struct average *a)
{
    double ran = a->cpu_ns * (double)(a->samples - 1);
    return a->samples > 1 && a->last - a->first < MAX_AVERAGED && fabs(a->ns - ran) > ran / 100;
}

static void join_average(const struct fit_windows *w, const struct average *a, bool *with_next)
{
    for (size_t n = fit_window_of(w, 1, a->first); n < fit_window_of(w, 0, a->last); n++)
        with_next[n] = true;
}

/* Marks the windows that continue with the next one, but not those that are a CHANGE. Returns whether
 * there are any. */
static bool find_averages(const struct fit_windows *w, const bool *change, bool *with_next)
{
    const struct stretch *s = w->view->stretch;
    bool used[STRETCH_WINDOWS] = {false}, any = false;
    struct average a = {.samples = 0};
    double ns = 0;
    if (w->differ)
        return false;
    for (size_t i = 0, k = 0; i < s->count; k += w->view->threads[i++]) {
        double cpu_ns = most_cpu(w->view, i, k);
        ns += s->ns[i];
        if (cpu_ns <= 0)
            continue;
        used[fit_window_of(w, 0, i)] = used[fit_window_of(w, 1, i)] = true;
        if (a.samples > 0 && are_alike(cpu_ns, a.cpu_ns)) {
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
        with_next[n] |= !used[n] && !change[n] && !change[n + 1];
    return any;
}

enum { FEW_SAMPLES = 3 };

/* Marks windows that are hardly longer than a sample: the moments at which functions change, and
 * those at which the windows end, are as uncertain as the windows are long. Joining several of them
 * loses little. Returns whether there are any. */
static bool find_short(const struct fit_windows *w, bool *with_next)
{
    const struct stretch *s = w->view->stretch;
    size_t samples = 0, least = w->paired > 0 ? w->paired : FIT_MIN_SAMPLES;
    if (s->count >= FEW_SAMPLES * w->count)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        size_t first = fit_window_of(w, 0, i), second = fit_window_of(w, 1, i);
        samples++;
        for (size_t n = first; n < second; n++)
            with_next[n] |= samples < least;
        bool ends = i + 1 < s->count && fit_window_of(w, 0, i + 1) > second;
        if (ends)
            with_next[second] |= samples < least;
        if ((ends && !with_next[second]) || (first < second && !with_next[second - 1]))
            samples = 0;
    }
    return true;
}

/* Returns whether an interval other than the first and the last is a window of its own. Most
 * stretches have none. */
VECTORS
static bool any_alone(const uint16_t *restrict first, const uint16_t *restrict second, size_t count)
{
    uint16_t any = 0;
    for (size_t i = 1; i + 1 < count; i++)
        any |= (uint16_t)((second[i - 1] != first[i]) & (second[i] == first[i]) &
                          (first[i + 1] != first[i]));
    return any != 0;
}

/* Returns whether interval I, which is neither the first nor the last, is a window of its own. */
static bool is_alone(const struct fit_windows *w, size_t i)
{
    size_t n = fit_window_of(w, 0, i);
    return fit_window_of(w, 1, i - 1) != n && fit_window_of(w, 1, i) == n &&
           fit_window_of(w, 0, i + 1) != n;
}

/* A sensor that shows powers is read at some moments. If two readings differ, the power has changed
 * in between, but it is not known when, so the energy of the intervals between them is uncertain.
 * Joined with the windows around them, they would add their errors to these, and often join all
 * phases of a program. If CPU times are known at readings, these intervals are left out instead,
 * unless there are many. */
#define MANY_CHANGES 0.5  /* of the time */
#define FULL         1.01 /* a thread does not use more CPU time than this part of the time */

/* Returns whether interval I is between two readings that differ. */
static bool is_change(const struct fit_windows *w, size_t i)
{
    return i > 0 && i + 1 < w->view->stretch->count &&
           (is_alone(w, i) || fit_window_of(w, 0, i) != fit_window_of(w, 1, i));
}

static bool has_changes(const struct fit_windows *w)
{
    const struct stretch *s = w->view->stretch;
    double all = 0, changes = 0;
    if (!w->own || !w->view->powers || w->mode != FIT_POWERS || s->edges != NULL)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        all += s->ns[i];
        changes += is_change(w, i) ? s->ns[i] : 0;
    }
    return changes > 0 && changes < MANY_CHANGES * all;
}

/* Makes each of these intervals a window, and sets CHANGE for it. If a thread was not seen between the
 * two readings, its CPU time there is part of the next interval, which is left out, too. */
static void part_changes(struct fit_windows *w, bool *change)
{
    const struct stretch *s = w->view->stretch;
    uint16_t last = 0;
    bool was = false;
    for (size_t i = 0, k = 0; i < s->count; k += w->view->threads[i++]) {
        bool is = is_change(w, i) ||
                  (was && i + 1 < s->count && most_cpu(w->view, i, k) > s->ns[i] * FULL);
        if (i > 0 && (is || was || fit_window_of(w, 0, i) != fit_window_of(w, 1, i - 1)))
            last++;
        w->whole[i] = last;
        change[last] = was = is;
    }
    w->count = (size_t)last + 1;
    memset(w->all, 0, w->count * sizeof *w->all);
    for (size_t i = 0; i < s->count; i++)
        w->all[w->whole[i]] += s->energy[i];
    w->energy = w->all;
    w->in[0] = w->in[1] = w->whole;
}

/* A window of one interval that is shorter than others is only part of one window, or of two: the
 * sensor was updated within the interval, or shows its measurements late, and the neighbouring
 * values do not show at which moment. The energies before and after that moment are in proportion
 * to time only on average, so such windows are joined with both of their neighbours. Returns
 * whether there are any. */
static bool find_parts(const struct fit_windows *w, const bool *change, bool *with_next)
{
    const struct stretch *s = w->view->stretch;
    double all = 0;
    bool any = false;
    if (w->mode != FIT_POWERS || s->edges != NULL || !any_alone(w->in[0], w->in[1], s->count))
        return false;
    for (size_t i = 0; i < s->count; i++)
        all += s->ns[i];
    for (size_t i = 1; i + 1 < s->count; i++) {
        size_t n = fit_window_of(w, 0, i);
        if (change[n] || !is_alone(w, i) || !(2 * s->ns[i] * (double)w->count < all))
            continue;
        with_next[n - 1] = with_next[n] = any = true;
    }
    return any;
}

/* Makes intervals FIRST to END window N. In the common case, END - FIRST is a constant. */
INLINE void join_to_one(struct fit_windows *w, size_t n, size_t first, size_t end)
{
    const struct stretch *s = w->view->stretch;
    double energy = 0, ns = 0;
    for (size_t i = first; i < end; i++) {
        w->whole[i] = (uint16_t)n;
        energy += s->energy[i];
        ns += s->ns[i];
    }
    w->all[n] = energy;
    w->ns[n] = ns;
    w->last[n] = (uint16_t)(end - 1);
}

/* Joins intervals if each of them would be a window. */
static void join_intervals(struct fit_windows *w)
{
    size_t count = w->view->stretch->count, i = 0;
    w->count = 0;
    for (; w->paired > 0 && i + w->paired <= count; i += w->paired)
        join_to_one(w, w->count++, i, i + w->paired);
    for (; w->paired == 0 && i + FIT_MIN_SAMPLES <= count; i += FIT_MIN_SAMPLES)
        join_to_one(w, w->count++, i, i + FIT_MIN_SAMPLES);
    if (i < count)
        join_to_one(w, w->count++, i, count);
    w->energy = w->all;
    w->timed = true;
}

/* Joins the windows WITH_NEXT, and leaves those out that are a CHANGE of their own. */
static void join_marked(struct fit_windows *w, const bool *with_next, const bool *change)
{
    uint16_t number[STRETCH_WINDOWS], last = 0;
    memset(w->joined, 0, sizeof w->joined);
    for (size_t n = 0; n < w->count; n++) {
        double before = n > 0 && with_next[n - 1] ? w->all[last] : 0;
        last = (uint16_t)(n > 0 && !with_next[n - 1] ? last + 1 : last);
        number[n] = last;
        w->bad[last] = change[n] && !with_next[n] && (n == 0 || !with_next[n - 1]);
        w->all[last] = before + w->energy[n];
    }
    for (size_t i = 0; i < w->view->stretch->count; i++)
        for (int half = 0; half < 2; half++)
            w->joined[half][i] = number[fit_window_of(w, half, i)];
    w->energy = w->all;
    w->in[0] = w->joined[0];
    w->in[1] = w->joined[1];
    w->count = (size_t)last + 1;
}

static void join_windows(struct fit_windows *w)
{
    bool with_next[STRETCH_WINDOWS] = {false}, change[STRETCH_WINDOWS] = {false};
    w->exact = false;
    if (w->divided)
        fit_times_follow(&w->fit->times, w->view, true);
    if (w->count < 2)
        return;
    if (w->divided) { /* perhaps not at the ends of most windows */
        w->scattered = fit_scattered_is(w, with_next);
        w->exact = !w->scattered;
    } else {
        if (has_changes(w))
            part_changes(w, change);
        w->exact = find_averages(w, change, with_next) && !w->scattered;
    }
    if (w->mode == FIT_EACH && !w->exact && !w->scattered) {
        join_intervals(w);
        return;
    }
    if (w->scattered)
        fit_scattered_join(w, with_next);
    else if (!w->divided && find_short(w, with_next))
        w->exact = false;
    else if (!find_parts(w, change, with_next) && !w->exact) {
        memcpy(w->bad, change, w->count * sizeof *w->bad);
        return;
    }
    join_marked(w, with_next, change);
}

/* ---- windows ---- */

/* Makes each interval a window, or all of them one window. */
static void use_intervals(struct fit_windows *w)
{
    const struct stretch *s = w->view->stretch;
    w->all[0] = 0;
    for (size_t i = 0; i < s->count; i++)
        w->whole[i] = w->mode == FIT_EACH ? (uint16_t)i : 0;
    for (size_t i = 0; i < s->count && w->mode != FIT_EACH; i++)
        w->all[0] += s->energy[i];
}

/* A sample shows where threads are and what the sensor shows, both at the same moment. If the value
 * of the sensor differs from the one before, the update was anywhere between the two samples. */
static void move_edges(struct fit_windows *w)
{
    const struct stretch *s = w->view->stretch;
    uint16_t last = 0;
    memset(w->edges, 0, w->count * sizeof *w->edges);
    if (w->energy != w->all)
        memcpy(w->all, w->energy, w->count * sizeof *w->all);
    for (size_t i = 0; i < s->count; i++) {
        uint16_t first = w->in[0][i], second = w->in[1][i];
        if (i > 0 && first == last + 1) {
            double before = s->rate[i - 1] * s->ns[i] / 2e9, moved = s->energy[i] / 2;
            w->all[last] += before;
            w->all[first] -= moved;
            w->edges[last] += s->ns[i] * s->ns[i] / 12;
            w->edges[first] += s->ns[i] * s->ns[i] / 12;
            first = last;
        }
        w->joined[0][i] = first;
        w->joined[1][i] = second;
        last = second;
    }
    w->energy = w->all;
    w->in[0] = w->joined[0];
    w->in[1] = w->joined[1];
}

/* Returns how often the power of an interval differs from that of the one before. */
static uint64_t count_changes(const struct stretch *s)
{
    uint64_t changes = 0;
    for (size_t i = 1; i < s->count; i++)
        changes += !stretch_same_power(s->rate[i - 1], s->rate[i]);
    return changes;
}

static void choose_windows(struct fit_windows *w)
{
    const struct stretch *s = w->view->stretch;
    w->mode = mode_of(s);
    w->timed = false;
    w->count = w->mode == FIT_EACH ? s->count : s->updates > 0 ? s->windows.count : 1;
    w->energy = w->mode == FIT_EACH ? s->energy : s->updates > 0 ? s->windows.energy : w->all;
    w->in[0] = s->updates > 0 ? s->in[0] : w->whole;
    w->in[1] = s->updates > 0 ? s->in[1] : w->whole;
    if (s->updates == 0)
        use_intervals(w);
    w->fit->updates += w->mode == FIT_EACH ? count_changes(s) : w->count - 1;
    join_windows(w);
    if (w->seen && w->mode == FIT_POWERS)
        move_edges(w);
}

enum { STEP = 8 };

/* Marks the intervals that are not in the same, single window as the one before. */
VECTORS
static void mark_edges(const uint16_t *restrict first, const uint16_t *restrict second,
                       size_t count, uint8_t *restrict edge)
{
    edge[0] = first[0] != 0 || second[0] != 0;
    for (size_t i = 1; i < count; i++)
        edge[i] = first[i] != second[i] || first[i] != second[i - 1];
}

/* The next marked interval at or after I. There is a mark after the last interval. */
static inline size_t next_edge(const uint8_t *edge, size_t i)
{
    uint64_t marks = get_u64(edge + i, false);
    for (; marks == 0; marks = get_u64(edge + i, false))
        i += STEP;
    return i + (size_t)__builtin_ctzll(marks) / 8;
}

static void measure_windows(struct fit_windows *w)
{
    const struct stretch *s = w->view->stretch;
    uint8_t edge[STRETCH + 2 * STEP];
    memset(w->ns, 0, w->count * sizeof w->ns[0]);
    memset(w->last, 0, w->count * sizeof w->last[0]);
    mark_edges(w->in[0], w->in[1], s->count, edge);
    memset(edge + s->count, 1, (size_t)2 * STEP);
    size_t open = 0;
    double ns = 0; /* of the open window */
    for (size_t i = 0, end;; i = end + 1) {
        end = next_edge(edge, i);
        for (size_t k = i; k < end; k++)
            ns += s->ns[k];
        w->last[open] = (uint16_t)(end > i ? end - 1 : w->last[open]);
        if (end == s->count)
            break;
        size_t first = fit_window_of(w, 0, end), second = fit_window_of(w, 1, end);
        if (first != open) {
            w->ns[open] = ns;
            ns = 0;
        }
        if (first == second) {
            ns += s->ns[end];
        } else {
            w->ns[first] = ns + fit_to_tick(s->ns[end] * fit_cut_of(w, end));
            ns = fit_to_tick(s->ns[end] * (1 - fit_cut_of(w, end)));
            w->last[first] = (uint16_t)end;
            double variance = w->mode == FIT_LEAPS ? s->ns[end] * s->ns[end] / 12 : 0;
            w->variance[first] += variance;
            w->variance[second] += variance;
        }
        open = second;
        w->last[second] = (uint16_t)end;
    }
    w->ns[open] = ns;
}

static void find_windows(struct fit_windows *w)
{
    memset(w->bad, 0, sizeof w->bad);
    choose_windows(w);
    memset(w->variance, 0, w->count * sizeof w->variance[0]);
    memset(w->fit->head, 0xff, w->count * sizeof w->fit->head[0]);
    memset(w->fit->has, 0, w->count * sizeof w->fit->has[0]);
    if (!w->timed)
        measure_windows(w);
    leave_out(w);
}

/* ---- to integers ---- */

#define TICK (((exact)1 << TIME_SHIFT) / FIT_TICK)

/* Converts NS to units of 1/FIT_TICK ns; sets *BAD if the result is too large. */
static int64_t to_ticks(double ns, bool *bad)
{
    if (!(ns < 0x1p50))
        *bad = true;
    return *bad ? 0 : (int64_t)(ns * FIT_TICK + 0.5);
}

static double edges_of(const struct fit_windows *w, size_t n)
{
    return w->seen && w->mode == FIT_POWERS ? w->edges[n] : 0;
}

struct fit_inner fit_inner_of(const struct fit_windows *w, size_t n)
{
    return (struct fit_inner){.ns = w->ns[n],
                              .energy = w->energy[n],
                              .variance = w->variance[n],
                              .edges = edges_of(w, n),
                              .end = w->view->number + w->last[n]};
}

/* Adds the first or the last window of a stretch, which may continue in other stretches. */
static void extend_open(struct fit_windows *w, size_t n)
{
    struct fit *fit = w->fit;
    double joule = w->energy[n];
    struct fit_window part = {.variance = w->variance[n],
                              .edges = edges_of(w, n),
                              .bad = w->bad[n],
                              .end = w->view->number + w->last[n]};
    bool bad = false;
    part.ns = to_ticks(w->ns[n], &part.bad);
    part.energy = is_summable(joule) ? exact_of_double(joule, ENERGY_SHIFT) : 0;
    fit_extend(fit, &part);
    for (uint32_t e = fit->head[n]; e != FIT_NOWHERE; e = fit->entries[e].next) {
        int64_t cpu[FIT_ESTIMATES];
        for (size_t x = 0; x < FIT_ESTIMATES; x++)
            cpu[x] = to_ticks(fit->entries[e].cpu[x], &bad);
        if (fit->entries[e].column != FIT_WAITS)
            fit_extend_cpu(fit, fit->entries[e].column, cpu);
    }
    fit->open.bad |= bad;
}

void fit_take_window(struct fit_windows *w, size_t n, struct fit_inner *inner, double weight)
{
    struct fit *fit = w->fit;
    size_t count = 0;
    for (uint32_t e = fit->head[n]; e != FIT_NOWHERE; e = fit->entries[e].next) {
        fit->latest[fit->entries[e].column] = e;
        count += fit->entries[e].column != FIT_WAITS;
    }
    fit_begin_inner(fit, inner, count);
    for (size_t s = 0; s < FIT_COLUMNS / FIT_WORD; s++)
        for (uint64_t bits = fit->has[n][s]; bits != 0; bits &= bits - 1) {
            size_t c = s * FIT_WORD + (size_t)__builtin_ctzll(bits);
            const double *cpu = fit->entries[fit->latest[c]].cpu;
            if (c != FIT_WAITS)
                fit_inner_put(inner, (uint16_t)c, cpu[0], cpu[1], cpu[2]);
        }
    if (weight == 1)
        fit_take_inner(fit, inner);
    else
        fit_take_weighted(fit, inner, weight);
}

bool fit_is_usable(const struct fit_windows *w, size_t n)
{
    return !w->bad[n] && is_summable(w->energy[n]);
}

/* Adds any other window. */
static void take_inner(struct fit_windows *w, size_t n)
{
    struct fit_inner inner = fit_inner_of(w, n);
    if (fit_is_usable(w, n))
        fit_take_window(w, n, &inner, 1);
}

/* Adds the CPU time of all windows. */
static void add_totals(struct fit_windows *w)
{
    struct fit *fit = w->fit;
    double *total = w->total;
    for (size_t e = 0; e < fit->entry_count; e++)
        total[fit->entries[e].column] += fit->entries[e].cpu[0];
    for (size_t n = 0; n < w->count; n++)
        total[FIT_TIME] += w->ns[n];
    total[FIT_WAITS] = 0;
    for (size_t c = 0; c < fit->columns; c++) {
        bool bad = false;
        fit_put(fit, &fit->cpu[c], to_ticks(total[c], &bad) * TICK);
        fit_put(fit, &fit->switched[c], fit->squares[c]);
        fit->squares[c] = 0;
    }
}

/* Rows have the CPU times of the recording, even if sightings must count equally for their powers. */
static void add_more(struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    for (size_t i = 0, k = 0; i < v->stretch->count; i++)
        for (size_t end = k + v->threads[i]; k < end; k++)
            if (v->counts == NULL || v->counts[i])
                w->total[w->fit->of[k]] += v->more_ns[k];
}

static void end_of_stretch(struct fit_windows *w)
{
    struct fit *fit = w->fit;
    double part = fit_ends_part(w);
    for (size_t n = 0; n < w->count; n++) {
        if (part > 0 && fit_ends_is_pair(w, n)) {
            fit_ends_take(w, n++, part);
            continue;
        }
        if (n > 0 && n + 1 < w->count) {
            if (n < w->taken_from || n >= w->taken_end)
                take_inner(w, n);
            continue;
        }
        extend_open(w, n);
        if (n + 1 < w->count)
            fit_end_window(fit, false);
    }
    if (w->view->more_ns != NULL)
        add_more(w);
    add_totals(w);
    fit->entry_count = 0;
    fit->mode = w->mode;
    const struct stretch *s = w->view->stretch;
    fit->rate = s->edges != NULL ? s->edges->last : s->rate[s->count - 1];
}

/* Successive samples of a thread that used CPU time, and those of them with equal CPU times. */
struct pair_counts {
    uint64_t running, equal;
};

/* Counts them among COUNT thread samples of N threads. */
VECTORS
static struct pair_counts count_pairs(const double *cpu_ns, size_t n, size_t count)
{
    struct pair_counts c = {0, 0};
    for (size_t k = n; k < count; k++) {
        uint64_t runs = (uint64_t)(cpu_ns[k] > 0) & (uint64_t)(cpu_ns[k - n] > 0);
        c.running += runs;
        c.equal += runs & (uint64_t)(fabs(cpu_ns[k] - cpu_ns[k - n]) <= 1);
    }
    return c;
}

/* Counts those with equal CPU times but different intervals, among samples FIRST to END. */
static uint64_t count_averaged(const struct fit_view *v, size_t first, size_t end)
{
    const double *ns = v->stretch->ns;
    uint64_t averaged = 0;
    size_t n = v->threads[0];
    for (size_t i = first + 1; i < end; i++)
        if (fabs(ns[i] - ns[i - 1]) > ns[i] / 100)
            averaged += count_pairs(v->cpu_ns + n * (i - 1), n, 2 * n).equal;
    return averaged;
}

/* Counts CPU times that are averages over several windows. */
static void look_for_averages(const struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    size_t n = v->threads[0];
    if (v->uses != NULL)
        return;
    if (w->differ || w->scattered) {
        w->fit->running += v->thread_samples - n;
        return;
    }
    for (size_t i = 0, end; i < v->stretch->count; i = end) {
        end = w->exact ? i + 1 : v->stretch->count;
        while (end < v->stretch->count && fit_window_of(w, 0, end - 1) != fit_window_of(w, 1, end))
            end++;
        struct pair_counts c = count_pairs(v->cpu_ns + n * i, n, n * (end - i));
        w->fit->running += c.running;
        w->fit->averaged += c.equal > 0 ? count_averaged(v, i, end) : 0;
    }
}

/* The last thread sample before K in which the thread ran; STRETCH_NONE: none. */
static uint32_t ran_before(const struct fit_view *v, size_t k)
{
    uint32_t p = v->uses[k].previous;
    while (p != STRETCH_NONE && !(v->cpu_ns[p] > 0))
        p = v->uses[p].previous;
    return p;
}

/* If fewer than one in so many updates has a sample without threads, these do not matter to threads
 * that hardly wait. */
enum { MARKED = 4 };

/* Returns whether CPU time is known at the ends of windows, because it is divided between two
 * samples without threads, equally among the samples in which threads ran. */
static bool is_divided(const struct fit_view *v)
{
    size_t first = 0, marks = 0, waited = 0;
    size_t alike[2] = {0, 0}, others[2] = {0, 0}; /* [1]: across a sample without threads */
    if (v->uses == NULL)                          /* the usual case: all samples have threads */
        return false;
    while (first < v->stretch->count && v->threads[first] > 0)
        first++;
    if (first == v->stretch->count)
        return false;
    for (size_t i = 0, k = 0, since = 0; i < v->stretch->count; i++) {
        since = v->threads[i] == 0 ? k : since;
        marks += v->threads[i] == 0;
        for (size_t end = k + v->threads[i]; k < end; k++) {
            uint32_t p = v->cpu_ns[k] > 0 ? ran_before(v, k) : STRETCH_NONE;
            waited += !(v->cpu_ns[k] > 0);
            if (p != STRETCH_NONE)
                (are_alike(v->cpu_ns[k], v->cpu_ns[p]) ? alike : others)[p < since]++;
        }
    }
    bool matter = MARKED * marks >= v->stretch->updates ||
                  FIT_RARE_WAIT * waited > v->thread_samples - waited;
    return alike[0] > others[0] && others[1] >= alike[1] && matter;
}

void fit_add_stretch(struct fit *fit, const struct fit_view *view)
{
    struct fit_windows w;
    struct fit_view placed = *view;
    w.fit = fit;
    w.view = &placed;
    if (view->stretch->count == 0)
        return;
    w.seen = !view->cpu_known && mode_of(view->stretch) != FIT_EACH &&
             fit_seen_fill(&fit->seen, &placed);
    fit->waits_unknown = w.seen;
    w.differ = w.seen || fit_times_differ(view);
    fit->own.kind = view->own;
    w.own = view->own != PBIN_OWN_NONE;
    w.paired = w.own ? fit_ends_least(view) : 0;
    w.divided = !w.own && is_divided(view);
    w.taken_from = w.taken_end = 0;
    memset(w.total, 0, sizeof w.total);
    w.scattered = !w.differ && !w.divided && !w.own && fit_times_place(&fit->times, &placed);
    find_windows(&w);
    const struct stretch *s = view->stretch;
    fit_cross_edge(fit, w.mode, s->edges != NULL ? s->edges->first : s->rate[0]);
    fit_add_lines(&w);
    look_for_averages(&w);
    end_of_stretch(&w);
}
