/* The default model of energy: stretches of samples are settled one by one.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/stretch_work.h"
#include "analyze/attribute/weigh.h"

#include "base/memory.h"

static size_t up_to_step(const struct weigher *w, const struct pbin_samples *samples, size_t first)
{
    size_t size = STRETCH - w->number % STRETCH, have = samples->count - first;
    size_t threads = 0, count = 0;
    if (samples->thread_sample_count <= WEIGH_MOST_THREADS)
        return size <= have ? size : 0;
    for (; count < size && count < have; count++) {
        threads += samples->threads[first + count];
        if (count > 0 && threads > WEIGH_MOST_THREADS)
            return count;
    }
    return count == size ? size : 0;
}

/* What thread samples used: those of the first sample of a profile may have used more before its interval, which does not
 * count. Without CPU times each ran, as far as there were CPUs. */
static void take_cpu_times(const struct weigher *w, const struct weighed *v, double *cpu_ns)
{
    struct stretch *s = &w->share->stretch;
    double cpus = w->meta->cpus > 0 ? (double)w->meta->cpus : INFINITY;
    for (size_t i = 0, k = 0; i < v->count; i++) {
        double n = (double)v->threads[i], most = INFINITY;
        double each = n > cpus ? s->ns[i] * cpus / n : s->ns[i];
        if (w->number + i == 0)
            most = s->ns[0] > 0 || s->count == 1 ? s->ns[0] : s->ns[1];
        for (size_t end = k + v->threads[i]; k < end; k++)
            cpu_ns[k] = w->meta->cpu_time ? fmin((double)v->cpu_ns[k], most) : each;
    }
}

/* Does no more than one thread run at a time? */
static bool run_in_turn(const struct weigher *w, const struct weighed *v, const double *cpu_ns)
{
    uint64_t runner = UINT64_MAX;
    for (size_t k = 0; k < v->thread_samples && w->meta->cpus != 1; k++) {
        if (cpu_ns[k] > 0 && runner != UINT64_MAX && v->thread[k] != runner)
            return false;
        runner = cpu_ns[k] > 0 ? v->thread[k] : runner;
    }
    return true;
}

static void remember(struct share_work *work, uint64_t thread, size_t sample, size_t at)
{
    if (thread >= work->threads) {
        mem_reserve(&work->last, &work->thread_capacity, thread + 1, sizeof *work->last);
        for (; work->threads < work->thread_capacity; work->threads++)
            work->last[work->threads] = (struct thread_place){SIZE_MAX, SIZE_MAX};
    }
    work->last[thread] = (struct thread_place){sample, at};
}

/* How many intervals up to number I take CPU_NS, at least 1 and at most MOST; UNTIL: the time up to each interval. */
static uint32_t find_reach(const double *until, size_t i, size_t most, double cpu_ns)
{
    size_t low = 1, high = most;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (until[i + 1] - until[i + 1 - middle] >= cpu_ns * (1 - 1e-9))
            high = middle;
        else
            low = middle + 1;
    }
    return (uint32_t)low;
}

/* Where CPU time was used: no longer ago than it takes, nor before the thread's last sample in this stretch. */
static void find_uses(struct share_work *work, const struct weighed *v)
{
    double until[STRETCH + 1] = {0};
    for (size_t i = 0; i < v->count; i++)
        until[i + 1] = until[i] + work->stretch.ns[i];
    for (size_t i = 0, k = 0, begin = 0; i < v->count; i++, begin = k) {
        for (size_t end = k + v->threads[i]; k < end; k++) {
            uint64_t thread = v->thread[k];
            struct thread_place p = {SIZE_MAX, SIZE_MAX};
            if (thread < work->threads)
                p = work->last[thread];
            bool known = p.sample < i && p.at < begin && v->thread[p.at] == thread;
            size_t most = known ? i - p.sample : i + 1;
            uint32_t reach = find_reach(until, i, most, work->cpu_ns[k]);
            bool shared = known && reach == most && work->cpu_ns[p.at] > 0;
            work->uses[k] = (struct stretch_use){shared ? p.at : SIZE_MAX, reach};
        }
        for (size_t end = k, at = begin; at < end; at++)
            remember(work, v->thread[at], i, at);
    }
}

/* CPU time of each interval. */
static void add_uses(struct share_work *work, const struct weighed *v)
{
    struct stretch *s = &work->stretch;
    double step[STRETCH + 1] = {0}, until[STRETCH + 1] = {0}, rate = 0;
    for (size_t i = 0; i < v->count; i++)
        until[i + 1] = until[i] + s->ns[i];
    for (size_t i = 0, k = 0; i < v->count; i++) {
        s->cpu_ns[i] = 0;
        for (size_t end = k + v->threads[i]; k < end; k++) {
            uint32_t reach = work->uses[k].reach;
            double ns = until[i + 1] - until[i + 1 - reach];
            if (reach == 1) {
                s->cpu_ns[i] += work->cpu_ns[k];
            } else if (ns > 0) {
                step[i + 1 - reach] += work->cpu_ns[k] / ns;
                step[i + 1] -= work->cpu_ns[k] / ns;
            }
        }
    }
    for (size_t i = 0; i < v->count; i++) {
        rate += step[i];
        s->cpu_ns[i] += fmax(0, rate) * s->ns[i];
    }
}

/* What rounding leaves goes to the last thread that used CPU time, else it is idle. */
static void put_exact(struct weighed *v, const struct share_work *work)
{
    exact rest = 0;
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < v->count; i++) {
        v->idle_energy[i] = exact_of_double(work->stretch.idle[i], ENERGY_SHIFT);
        rest += exact_of_double(v->energy[i], ENERGY_SHIFT) - v->idle_energy[i];
    }
    for (size_t k = 0; k < v->thread_samples; k++) {
        v->energy_of[k] = exact_of_double(work->of[k], ENERGY_SHIFT);
        rest -= v->energy_of[k];
        last = work->cpu_ns[k] > 0 ? k : last;
    }
    if (last != SIZE_MAX)
        v->energy_of[last] += rest;
    else
        v->idle_energy[v->count - 1] += rest;
}

static void spread_by_share(const struct weigher *w, struct weighed *v)
{
    struct share_work *work = w->share;
    struct stretch *s = &work->stretch;
    share_work_reserve(work, v->thread_samples);
    s->count = v->count;
    for (size_t i = 0; i < v->count; i++) {
        s->ns[i] = v->seconds[i] * 1e9;
        s->rate[i] = v->rate[i];
        s->energy[i] = v->energy[i];
    }
    take_cpu_times(w, v, work->cpu_ns);
    s->in_turn = run_in_turn(w, v, work->cpu_ns);
    find_uses(work, v);
    add_uses(work, v);
    share_work_settle(work, v->threads, work->uses);
    put_exact(v, work);
}

const struct energy_model energy_by_share = {
    .name = "share", .window = up_to_step, .step = STRETCH, .spread = spread_by_share};
