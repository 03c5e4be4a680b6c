/* CPU times that are not known at the ends of windows.
 *
 * A sampler that looks at threads at random moments may read the CPU time of a thread only now and
 * then, and divide it equally among the n looks since then that found the thread running; each gets
 * c. A window that ends in between gets c for each of its looks, which is right on average. For
 * independent moments, k consecutive looks in a window have the variance c^2 k (n - k) / (n - 1),
 * and the covariance of k looks in one window and l in another is -c^2 k l / (n - 1). Random signs,
 * minus their mean over the n looks, have these squares and products on average. Each look
 * therefore gets such an error e, with which CPU times are estimated two more times: the products
 * of x + e and of x - e exceed those of x by as much as those of x exceed the true ones.
 *
 * If the intervals between moments have the coefficient of variation v, the moments are less
 * random, by v^2, and all threads share them. If the part q of all looks finds the thread running,
 * it has an additional variance of its own: (1 - q) (1 - v^2).
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "analyze/attribute/fit_regular.h"
#include "analyze/attribute/fit_windows.h"
#include "base/memory.h"

/* The CPU time may be unknown at one in MAX_OPEN updates of the sensor. */
enum { MAX_OPEN = 2 };
enum {
    LONG = 32,      /* looks per window that found a thread running */
    MIN_LENGTH = 16 /* samples among which a thread that always runs shares CPU time */
};
#define MAX_SPREAD 2. /* squared coefficient of variation of intervals; above it, some are gaps */

/* ---- where windows end ---- */

/* Sets OPEN[i] if looks up to sample I share CPU time with later ones. */
static void find_open(const struct fit_windows *w, bool *open)
{
    const struct fit_times *t = &w->fit->times;
    size_t count = w->view->stretch->count, shared = 0;
    uint32_t begun = 0; /* means are numbered by their first samples */
    uint32_t ended[STRETCH] = {0};
    for (uint32_t m = 0; m < t->mean_count; m++)
        ended[t->means[m].last]++;
    for (size_t i = 0, k = 0; i < count; i++) {
        for (size_t end = k + w->view->threads[i]; k < end; k++)
            if (t->mean[k] == begun)
                begun++, shared++;
        shared -= ended[i];
        open[i] = shared > 0;
    }
}

/* Sets WITH_NEXT for windows without looks: what is used there is part of the next look. An
 * interval between two samples without threads is one of these, whatever its power seems to be. */
static void join_empty(const struct fit_windows *w, bool *with_next)
{
    const struct fit_view *v = w->view;
    bool used[STRETCH_WINDOWS] = {false};
    for (size_t i = 0, k = 0; i < v->stretch->count; i++) {
        for (size_t n = fit_window_of(w, 0, i); v->threads[i] == 0 && n < fit_window_of(w, 1, i);
             n++)
            with_next[n] = true;
        for (size_t end = k + v->threads[i]; k < end; k++)
            used[fit_window_of(w, 1, i)] |= v->cpu_ns[k] > 0;
    }
    for (size_t n = 0; n + 1 < w->count; n++)
        with_next[n] |= !used[n];
}

bool fit_scattered_is(const struct fit_windows *w, bool *with_next)
{
    size_t ends = 0, unknown = 0;
    bool open[STRETCH];
    find_open(w, open);
    for (size_t i = 0; i + 1 < w->view->stretch->count; i++) {
        size_t window = fit_window_of(w, 1, i);
        if (fit_window_of(w, 1, i + 1) == window)
            continue;
        ends++;
        unknown += open[i];
        with_next[window] |= open[i];
    }
    join_empty(w, with_next);
    return unknown * MAX_OPEN > ends;
}

void fit_scattered_join(const struct fit_windows *w, bool *with_next)
{
    size_t count = w->view->stretch->count, ran = 0, samples = 0;
    for (size_t k = 0; k < w->view->thread_samples; k++)
        ran += w->view->cpu_ns[k] > 0;
    size_t length = ran > 0 ? LONG * count / ran + 1 : count;
    length = length > MIN_LENGTH ? length : MIN_LENGTH;
    memset(with_next, true, w->count * sizeof *with_next);
    for (size_t i = 0; i + 1 < count; i++) {
        size_t window = fit_window_of(w, 1, i);
        if (++samples < length || fit_window_of(w, 1, i + 1) == window)
            continue;
        with_next[window] = false;
        samples = 0;
    }
}

/* ---- errors ---- */

/* The randomness of the looks of a stretch. */
struct interval_moments {
    double mean;   /* of intervals [ns] */
    double spread; /* squared coefficient of variation of intervals */
};

static struct interval_moments measure(const struct stretch *s)
{
    double sum = 0, squares = 0, count = (double)s->count;
    for (size_t i = 0; i < s->count; i++) {
        sum += s->ns[i];
        squares += s->ns[i] * s->ns[i];
    }
    double spread = sum > 0 ? squares * count / (sum * sum) - 1 : 0;
    return (struct interval_moments){sum / count, fmin(MAX_SPREAD, fmax(0, spread))};
}

/* Bits that depend on X like random ones, but are the same in each run (splitmix64). */
static inline uint64_t random_bits(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline double either(double value, uint64_t bits)
{
    return (bits & 1) != 0 ? value : -value;
}

/* Sets the part of the error that each thread has on its own, because only some looks find it
 * running. */
static void find_own(struct fit_times *t, const struct interval_moments *m)
{
    for (uint32_t j = 0; j < t->threads; j++) {
        struct fit_looks *looks = &t->looks[j];
        double found = looks->ran > 0 ? (double)looks->ran * m->mean / looks->cpu_ns : 1;
        looks->error = sqrt(fmax(0, (1 - fmin(1, found)) * (1 - m->spread)));
    }
}

/* Draws the error of each look, in units of its CPU time, and sums the errors by mean. */
static void draw(const struct fit_view *v, struct fit_times *t)
{
    struct interval_moments m = measure(v->stretch);
    double common = sqrt(m.spread);
    find_own(t, &m);
    mem_reserve(&t->error, &t->error_capacity, v->thread_samples + 1, sizeof *t->error);
    for (size_t i = 0, k = 0; i < v->stretch->count; i++) {
        uint64_t bits = random_bits(v->number + i);
        for (size_t seat = 0; seat < v->threads[i]; seat++, k++) {
            if (t->mean[k] == FIT_NO_MEAN)
                continue;
            t->error[k] = either(common, bits) +
                          either(t->looks[t->thread[k]].error, random_bits(bits + seat + 1));
            t->means[t->mean[k]].error += t->error[k];
        }
    }
}

/* Turns sums of errors into their means. */
static void settle(struct fit_times *t)
{
    for (uint32_t m = 0; m < t->mean_count; m++) {
        struct fit_mean *mean = &t->means[m];
        double n = (double)mean->samples;
        mean->error /= n;
        mean->scale = n > 1 ? sqrt(n / (n - 1)) : 0;
        mean->column = FIT_WAITS;
    }
}

/* A change of row anywhere among the n looks of MEAN has the average error c^2 n (n + 1) / (6 (n -
 * 1)); fit_count_switch expects twelve times as much. */
static void count_change(struct fit *fit, struct fit_mean *mean, uint32_t thread, uint16_t column)
{
    double n = (double)mean->samples;
    if (mean->column != FIT_WAITS && mean->thread == thread && mean->column != column)
        fit_count_switch(fit, mean->column, column, mean->cpu_ns * sqrt(2 * n * (n + 1) / (n - 1)));
    mean->column = column;
    mean->thread = thread;
}

/* Adds thread sample K, which ran and ends sample I. */
static void add_look(struct fit_windows *w, size_t i, size_t k)
{
    struct fit *fit = w->fit;
    const struct fit_times *t = &fit->times;
    struct fit_mean *mean = &t->means[t->mean[k]];
    double c = w->view->cpu_ns[k];
    double x = fit_to_tick(c), e = fit_to_tick((t->error[k] - mean->error) * mean->scale * c);
    double *cpu = fit_entry_of(fit, fit_window_of(w, 1, i), fit->of[k]);
    cpu[0] += x;
    cpu[1] += x + e;
    cpu[2] += x - e;
    count_change(fit, mean, t->thread[k], fit->of[k]);
}

void fit_scattered_add(struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    struct fit_times *t = &w->fit->times;
    draw(v, t);
    settle(t);
    for (size_t i = 0, k = 0; i < v->stretch->count; i++) {
        bool counts = v->counts == NULL || v->counts[i];
        for (size_t end = k + v->threads[i]; k < end; k++)
            if (counts && t->mean[k] != FIT_NO_MEAN)
                add_look(w, i, k);
    }
}
