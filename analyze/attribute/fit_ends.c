/* Errors of CPU times at the ends of windows, if samples of several threads alternate.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_regular.h"

/* The samples of a thread share its CPU time in batches of about so many. */
enum { BATCH = 8 };

/* One in so many samples is enough. Windows are as long as a batch of each thread, up to MAX_LEAST
 * samples. The ends of windows of LONG times that length do not matter. */
enum { INTERLEAVED = 16, MAX_LEAST = 64, LONG = 2 };

size_t fit_ends_least(const struct fit_view *v)
{
    size_t alternate = 0, follow = 0, between = 0;
    for (size_t i = 0, k = 0, before = 0; i < v->stretch->count && v->uses != NULL; i++) {
        size_t begin = k;
        for (size_t end = k + v->threads[i]; k < end; k++) {
            if (v->uses[k].previous == STRETCH_NONE)
                continue;
            follow++;
            between += k - v->uses[k].previous;
            alternate += v->uses[k].previous < before;
        }
        before = v->threads[i] > 0 ? begin : before;
    }
    if (INTERLEAVED * alternate <= v->thread_samples)
        return 0;
    size_t least = BATCH * between / follow;
    return least < FIT_MIN_SAMPLES ? FIT_MIN_SAMPLES : least < MAX_LEAST ? least : MAX_LEAST;
}

/* Returns the sum over columns of the squared difference between windows N and N + 1, per time. */
static double squared_difference(const struct fit_windows *w, size_t n)
{
    const struct fit *fit = w->fit;
    double rate[FIT_COLUMNS] = {0}, sum = 0;
    for (size_t h = 0; h < 2; h++)
        for (uint32_t e = fit->head[n + h]; e != FIT_NOWHERE; e = fit->entries[e].next)
            rate[fit->entries[e].column] +=
                (h == 0 ? 1 : -1) * fit->entries[e].cpu[0] / w->ns[n + h];
    for (size_t c = FIT_REST; c < fit->columns; c++)
        sum += rate[c] * rate[c];
    return sum;
}

/* Records the errors at the ends of window N, which has the CPU times of two, of the length NS. */
static void add_ends(const struct fit_windows *w, size_t n, double ns)
{
    struct fit *fit = w->fit;
    for (uint32_t e = fit->head[n]; e != FIT_NOWHERE; e = fit->entries[e].next)
        if (fit->entries[e].column != FIT_WAITS)
            fit_add_ends(fit, fit->entries[e].column,
                         2 * w->end_variance * fit->entries[e].cpu[0] / ns / ns);
}

/* Moves the CPU times of window N + 1 to window N. */
static void move_entries(struct fit_windows *w, size_t n)
{
    struct fit *fit = w->fit;
    for (uint32_t e = fit->head[n + 1]; e != FIT_NOWHERE; e = fit->entries[e].next) {
        double *to = fit_entry_of(fit, n, fit->entries[e].column);
        for (size_t x = 0; x < FIT_ESTIMATES; x++) {
            to[x] += fit->entries[e].cpu[x];
            fit->entries[e].cpu[x] = 0;
        }
    }
}

bool fit_ends_is_pair(const struct fit_windows *w, size_t n)
{
    return n > 0 && n + 2 < w->count && fit_is_usable(w, n) && fit_is_usable(w, n + 1) &&
           w->ns[n] > 0 && w->ns[n + 1] > 0;
}

double fit_ends_part(struct fit_windows *w)
{
    const struct fit_view *v = w->view;
    double squares = 0, seen = 0, explained = 0, threads = (double)w->paired / BATCH;
    if (v->stretch->count >= LONG * w->paired * w->count)
        return 0;
    for (size_t k = 0; k < v->thread_samples; k++)
        squares += v->cpu_ns[k] * v->cpu_ns[k];
    w->end_variance = fit_own_end_variance(v->own) * squares / (double)v->thread_samples;
    for (size_t n = 1; n + 2 < w->count; n++) {
        if (!fit_ends_is_pair(w, n))
            continue;
        double ns = w->ns[n] * w->ns[n + 1] / (w->ns[n] + w->ns[n + 1]);
        seen += squared_difference(w, n) * ns;
        explained += 3 * w->end_variance * threads / (2 * ns);
        n++;
    }
    return explained < seen ? explained / seen : 1;
}

void fit_ends_take(struct fit_windows *w, size_t n, double part)
{
    struct fit_inner half[2] = {fit_inner_of(w, n), fit_inner_of(w, n + 1)}, both = half[1];
    double one = 1 / half[0].ns + 1 / half[1].ns, sum = 1 / (half[0].ns + half[1].ns);
    double weight = part * sum / (one - sum);
    both.ns += half[0].ns;
    both.energy += half[0].energy;
    both.variance = half[0].variance = half[1].variance = 0; /* errors of their ends, too */
    half[0].end = half[1].end;
    fit_take_window(w, n, &half[0], -weight);
    fit_take_window(w, n + 1, &half[1], -weight);
    move_entries(w, n);
    add_ends(w, n, both.ns);
    fit_take_window(w, n, &both, 1 + weight);
    w->fit->switched[FIT_TIME]--; /* they are two windows */
}
