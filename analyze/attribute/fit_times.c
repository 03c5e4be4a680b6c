/* CPU times that are known only over many samples of a thread.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_times.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/vectors.h"

enum {
    MIN_ALIKE = 2,
    FEW_EMPTY = 4, /* one sample in so many contains no threads */
    /* samples: a thread that changes faster is not well seen, unless it hardly waits */
    SHORT_STAY = 8,
    RECENT = 64 /* samples, and means among which one of another thread is searched for */
};
/* The least difference between intervals and CPU times, relative to the intervals, unless the
 * thread was seen waiting. */
#define MIN_SPREAD 0.25
/* A thread that is seen at random moments is seen running for about its CPU time. */
#define MAX_RATIO 2.0

void fit_times_free(struct fit_times *t)
{
    free(t->cpu_ns);
    free(t->uses);
    free(t->thread);
    free(t->waits);
    free(t->looks);
    free(t->means);
    free(t->mean);
    free(t->error);
}

static inline bool is_alike(double cpu_ns, double other)
{
    return fabs(cpu_ns - other) <= FIT_ALIKE;
}

/* Returns whether all thread samples, of N threads, ran, with a CPU time that differs from the one
 * before. */
VECTORS
static bool all_differ(const double *cpu_ns, size_t n, size_t count)
{
    uint64_t alike = 0;
    for (size_t k = 0; k < n; k++)
        alike |= (uint64_t) !(cpu_ns[k] > 0);
    for (size_t k = n; k < count; k++)
        alike |=
            (uint64_t) !(cpu_ns[k] > 0) | (uint64_t)(fabs(cpu_ns[k] - cpu_ns[k - n]) <= FIT_ALIKE);
    return alike == 0;
}

static void reserve(struct fit_times *t, size_t count)
{
    mem_reserve(&t->cpu_ns, &t->cpu_capacity, count + 1, sizeof *t->cpu_ns);
    mem_reserve(&t->uses, &t->use_capacity, count + 1, sizeof *t->uses);
    mem_reserve(&t->thread, &t->thread_capacity, count + 1, sizeof *t->thread);
    mem_reserve(&t->waits, &t->wait_capacity, count + 1, sizeof *t->waits);
    mem_reserve(&t->mean, &t->mean_capacity, count + 1, sizeof *t->mean);
    mem_reserve(&t->means, &t->means_capacity, count + 1, sizeof *t->means);
    mem_reserve(&t->looks, &t->look_capacity, count + 1, sizeof *t->looks);
}

/* The thread sample of the same thread before K, which is in sample I. */
static uint32_t previous_of(const struct fit_view *v, size_t i, size_t k)
{
    if (v->uses != NULL)
        return v->uses[k].previous;
    return i > 0 ? (uint32_t)(k - v->threads[0]) : STRETCH_NONE;
}

bool fit_times_differ(const struct fit_view *v)
{
    size_t n = v->threads[0];
    bool same = n * v->stretch->count == v->thread_samples;
    for (size_t i = 1; i < v->stretch->count && same && v->uses != NULL; i++) {
        same = v->threads[i] == n;
        for (size_t k = n * i; k < n * (i + 1) && same; k++)
            same = v->uses[k].previous == k - n;
    }
    return same && all_differ(v->cpu_ns, v->threads[0], v->thread_samples);
}

/* Returns whether all thread samples, of N threads, ran, and fewer than MIN_ALIKE have the same CPU
 * time as the one before. */
VECTORS
static bool few_alike(const double *cpu_ns, size_t n, size_t count)
{
    uint64_t alike = 0, waited = 0;
    for (size_t k = 0; k < n; k++)
        waited += (uint64_t) !(cpu_ns[k] > 0);
    for (size_t k = n; k < count; k++) {
        waited += (uint64_t) !(cpu_ns[k] > 0);
        alike += (uint64_t)(fabs(cpu_ns[k] - cpu_ns[k - n]) <= FIT_ALIKE);
    }
    return waited == 0 && alike < MIN_ALIKE;
}

/* Returns whether at least MIN_ALIKE thread samples have the same CPU time as the last one of their
 * thread that ran. Uses CPU_NS of T for the CPU time of the latest sample in which the thread
 * ran. */
static bool any_alike(struct fit_times *t, const struct fit_view *v)
{
    size_t alike = 0;
    if (v->uses == NULL && few_alike(v->cpu_ns, v->threads[0], v->thread_samples))
        return false;
    reserve(t, v->thread_samples);
    for (size_t i = 0, k = 0; i < v->stretch->count; i++)
        for (size_t end = k + v->threads[i]; k < end; k++) {
            uint32_t p = previous_of(v, i, k);
            double cpu_ns = v->cpu_ns[k], last = p != STRETCH_NONE ? t->cpu_ns[p] : 0;
            alike += cpu_ns > 0 && last > 0 && is_alike(cpu_ns, last);
            t->cpu_ns[k] = cpu_ns > 0 ? cpu_ns : last;
        }
    return alike >= MIN_ALIKE;
}

/* Returns the number of a recent mean with the CPU time CPU_NS up to sample I, of another thread;
 * FIT_NO_MEAN: there is none. */
static uint32_t find_mean(const struct fit_times *t, size_t i, double cpu_ns)
{
    uint32_t first = t->mean_count > RECENT ? t->mean_count - RECENT : 0;
    for (uint32_t m = t->mean_count; m-- > first;)
        if (is_alike(cpu_ns, t->means[m].cpu_ns) && i - t->means[m].last <= RECENT)
            return m;
    return FIT_NO_MEAN;
}

/* Adds thread sample K, which ran and ends sample I, to its mean. ACROSS: several threads may share
 * one. */
static void enter_mean(struct fit_times *t, struct fit_looks *looks, bool across, size_t i,
                       size_t k, double cpu_ns)
{
    struct fit_mean *mean = looks->ran > 0 ? &t->means[looks->mean] : NULL;
    if (mean == NULL || !is_alike(cpu_ns, mean->cpu_ns)) {
        if (mean != NULL)
            mean->ends = true;
        uint32_t shared = across ? find_mean(t, i, cpu_ns) : FIT_NO_MEAN;
        looks->mean = shared != FIT_NO_MEAN ? shared : t->mean_count++;
        if (shared == FIT_NO_MEAN)
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room for a mean per sample */
            t->means[looks->mean] = (struct fit_mean){.cpu_ns = cpu_ns, .begins = mean != NULL};
        mean = &t->means[looks->mean];
    } else {
        looks->alike++;
    }
    t->mean[k] = looks->mean;
    mean->ns += looks->open_ns;
    mean->samples++;
    mean->last = i;
    looks->open_ns = 0;
}

/* The time that sample I represents. If threads run nearly all the time, samples without threads are
 * at updates of the sensor, when no thread is looked at. */
static double interval_of(const struct fit_times *t, const struct fit_view *v, size_t i)
{
    double ns = v->stretch->ns[i];
    while (t->few_empty && i > 0 && v->threads[i - 1] == 0)
        ns += v->stretch->ns[--i];
    return ns;
}

static bool has_few_empty(const struct fit_view *v)
{
    size_t empty = 0;
    double ns = 0, cpu_ns = 0;
    for (size_t i = 0; i < v->stretch->count; i++) {
        empty += v->threads[i] == 0;
        ns += v->stretch->ns[i];
    }
    for (size_t k = 0; k < v->thread_samples; k++)
        cpu_ns += v->cpu_ns[k];
    return FEW_EMPTY * empty < v->stretch->count && FIT_RARE_WAIT * (ns - cpu_ns) < ns;
}

/* PREVIOUS is the same thread in the sample before; FAR: in an earlier one, or there is none. */
static void look_at(struct fit_times *t, const struct fit_view *v, uint32_t previous, bool far,
                    bool across, size_t i, size_t k)
{
    struct fit_looks *looks = &t->looks[t->thread[k]];
    double ns = interval_of(t, v, i), cpu_ns = v->cpu_ns[k];
    bool ran = cpu_ns > 0, ran_before = far ? ran : v->cpu_ns[previous] > 0;
    looks->open_ns += ns * (ran + ran_before) / 2;
    looks->changes += ran != ran_before;
    looks->waited += !ran;
    t->mean[k] = FIT_NO_MEAN;
    if (!ran)
        return;
    enter_mean(t, looks, across, i, k, cpu_ns);
    looks->ran++;
    looks->cpu_ns += cpu_ns;
    looks->ns += ns;
    looks->spread += fabs(ns - cpu_ns);
}

void fit_times_follow(struct fit_times *t, const struct fit_view *v, bool across)
{
    uint32_t threads = 0;
    reserve(t, v->thread_samples);
    t->mean_count = 0;
    t->few_empty = has_few_empty(v);
    for (size_t i = 0, k = 0, before = 0; i < v->stretch->count; i++) {
        size_t begin = k;
        for (size_t end = k + v->threads[i]; k < end; k++) {
            uint32_t previous = previous_of(v, i, k);
            if (previous == STRETCH_NONE)
                t->looks[threads] = (struct fit_looks){.ran = 0};
            t->thread[k] = previous != STRETCH_NONE ? t->thread[previous] : threads++;
            look_at(t, v, previous, previous == STRETCH_NONE || previous < before, across, i, k);
        }
        before = begin;
    }
    t->threads = threads;
}

static bool is_seen_at_random(const struct fit_looks *l)
{
    return 8 * (l->alike + 1) >= 7 * l->ran && l->alike >= MIN_ALIKE &&
           l->ns <= MAX_RATIO * l->cpu_ns && l->cpu_ns <= MAX_RATIO * l->ns &&
           (l->waited > 0 || l->spread > MIN_SPREAD * l->ns);
}

/* Returns whether the thread alternates between waiting and running too fast to be well seen. */
static bool is_restless(const struct fit_looks *l)
{
    size_t stays = l->ran < l->waited ? l->ran : l->waited; /* samples in the state that is rarer */
    return is_seen_at_random(l) && 2 * stays < SHORT_STAY * l->changes &&
           FIT_RARE_WAIT * l->waited > l->ran;
}

/* The ratio of CPU time to the time in which a thread seemed to run. If a mean continues in another
 * stretch, its CPU time in this one is known only on average, and the ratio is 1. */
static double scale_of(const struct fit_times *t, const struct fit_looks *looks)
{
    if (looks->mean == FIT_NO_MEAN)
        return 1;
    const struct fit_mean *m = &t->means[looks->mean];
    double cpu_ns = m->cpu_ns * (double)m->samples;
    return m->begins && m->ends && m->ns <= MAX_RATIO * cpu_ns && cpu_ns <= MAX_RATIO * m->ns
               ? cpu_ns / m->ns
               : 1;
}

/* Thread sample K ends interval I. The thread samples of the sample before begin with BEFORE; those
 * of later samples have been placed. */
static void place(struct fit_times *t, const struct fit_view *v, size_t before, size_t i, size_t k)
{
    struct fit_looks *looks = &t->looks[t->thread[k]];
    bool placed = is_seen_at_random(looks), ran = t->mean[k] != FIT_NO_MEAN;
    looks->mean = ran ? t->mean[k] : looks->mean;
    t->waits[k] = placed && !ran;
    t->cpu_ns[k] = placed ? interval_of(t, v, i) * scale_of(t, looks) : v->cpu_ns[k];
    if (v->uses == NULL)
        return;
    t->uses[k] = v->uses[k];
    if (!placed)
        return;
    uint32_t p = v->uses[k].previous;
    t->uses[k].before = p != STRETCH_NONE && p >= before ? p : SIZE_MAX;
    t->uses[k].reach = 1;
}

static void place_all(struct fit_times *t, const struct fit_view *v)
{
    for (size_t j = 0; j < t->threads; j++)
        t->looks[j].mean = FIT_NO_MEAN;
    for (size_t i = v->stretch->count, begin = v->thread_samples; i-- > 0;) {
        size_t end = begin;
        begin -= v->threads[i];
        for (size_t k = begin; k < end; k++)
            place(t, v, i > 0 ? begin - v->threads[i - 1] : 0, i, k);
    }
}

static bool any_restless(const struct fit_times *t)
{
    bool any = false;
    for (size_t j = 0; j < t->threads && !any; j++)
        any = is_restless(&t->looks[j]);
    return any;
}

bool fit_times_place(struct fit_times *t, struct fit_view *view)
{
    const struct fit_view v = *view;
    if (!any_alike(t, &v))
        return false;
    fit_times_follow(t, &v, false);
    if (any_restless(t))
        return true;
    place_all(t, &v);
    view->cpu_ns = t->cpu_ns;
    view->uses = v.uses != NULL ? t->uses : NULL;
    view->waits = t->waits;
    return false;
}
