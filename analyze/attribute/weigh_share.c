/* The default energy model, which settles samples stretch by stretch.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/stretch_work.h"
#include "analyze/attribute/weigh.h"

static size_t up_to_step(const struct weigher *w, const struct pbin_samples *samples, size_t first)
{
    size_t size = STRETCH - w->number % STRETCH, have = samples->count - first;
    size_t threads = 0, count = 0;
    if (samples->thread_sample_count <= WEIGH_MAX_THREADS)
        return size <= have ? size : 0;
    for (; count < size && count < have; count++) {
        threads += samples->threads[first + count];
        if (count > 0 && threads > WEIGH_MAX_THREADS)
            return count;
    }
    return count == size ? size : 0;
}

/* Sets the CPU times of thread samples. Without CPU times, each thread ran, within the limit of the
 * number of CPUs. */
static void take_cpu_times(const struct weigher *w, const struct weighed *v, double *cpu_ns)
{
    struct stretch *s = &w->share->stretch;
    double cpus = weigher_cpus(w);
    for (size_t i = 0, k = 0; i < v->count; i++) {
        double n = (double)v->threads[i], most = INFINITY;
        double each = n > cpus ? s->ns[i] * cpus / n : s->ns[i];
        if (w->number + i == 0)
            most = share_work_first_most(w->share);
        for (size_t end = k + v->threads[i]; k < end; k++)
            cpu_ns[k] = w->meta->cpu_time ? fmin((double)v->cpu_ns[k], most) : each;
    }
}

/* The remainder from rounding goes to the last thread sample with energy. If none has any, it is
 * energy of other programs or, if these have none, idle energy. */
static void put_exact(struct weighed *v, const struct share_work *work)
{
    exact rest = 0, others = 0;
    size_t last = share_work_find_last(work, v->thread_samples);
    for (size_t i = 0; i < v->count; i++) {
        v->idle_energy[i] = v->others_energy[i] = 0;
        if (work->stretch.any_idle)
            v->idle_energy[i] = exact_of_double(work->stretch.idle[i], ENERGY_SHIFT);
        if (work->stretch.others > 0)
            v->others_energy[i] = exact_of_double(work->stretch.other[i], ENERGY_SHIFT);
        others |= v->others_energy[i];
        rest +=
            exact_of_double(v->energy[i], ENERGY_SHIFT) - v->idle_energy[i] - v->others_energy[i];
    }
    for (size_t k = 0; k < v->thread_samples; k++) {
        v->energy_of[k] = exact_of_double(work->of[k], ENERGY_SHIFT);
        rest -= v->energy_of[k];
    }
    if (last > 0)
        v->energy_of[last - 1] += rest;
    else
        (others != 0 ? v->others_energy : v->idle_energy)[v->count - 1] += rest;
}

static void spread_by_share(const struct weigher *w, struct weighed *v)
{
    struct share_work *work = w->share;
    struct stretch *s = &work->stretch;
    share_work_reserve(work, v->thread_samples);
    s->count = v->count;
    s->sums = false;
    s->edges = w->lag > 0 && work->edges.known ? &work->edges : NULL;
    for (size_t i = 0; i < v->count; i++) {
        s->ns[i] = v->seconds[i] * 1e9;
        s->rate[i] = v->rate[i];
        s->energy[i] = v->energy[i];
    }
    stretch_look(s);
    s->even_count = 0;
    take_cpu_times(w, v, work->cpu_ns);
    s->in_turn = w->meta->cpus == 1 || share_work_in_turn(work, v->thread, v->thread_samples);
    share_work_find_uses(work, v->threads, v->thread);
    share_work_find_sighted(work, v->threads, work->uses);
    if (w->limit > 0)
        s->others = w->others, s->cpus = w->others_cpus;
    else
        stretch_find_others(s, weigher_busy(w), weigher_cpus(w));
    share_work_settle(work, v->threads, work->uses);
    put_exact(v, work);
}

void weigher_find_others(struct weigher *w, const struct pbin_samples *next)
{
    struct stretch *s = &w->share->stretch;
    s->count = next->count;
    s->sighted = true;
    s->even_count = 0;
    s->cpu_ns = s->cpu_sums;
    for (size_t i = 0, k = 0; i < next->count; i++) {
        s->ns[i] = exact_approximate(weigher_elapsed(w, next->interval_ns[i]), TIME_SHIFT);
        s->cpu_ns[i] = 0;
        for (size_t end = k + next->threads[i]; k < end; k++)
            s->cpu_ns[i] += (double)next->cpu_ns[k];
    }
    stretch_find_others(s, weigher_busy(w), weigher_cpus(w));
    w->others = s->others;
    w->others_cpus = s->cpus;
}

const struct energy_model energy_by_share = {
    .name = "share", .window = up_to_step, .step = STRETCH, .spread = spread_by_share};
