/* A stretch with its thread samples.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/stretch_work.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/vectors.h"

struct share_work *share_work_new(bool undivided, bool own)
{
    struct share_work *work = mem_zalloc(1, sizeof *work);
    work->undivided = undivided;
    stretch_init(&work->stretch);
    work->stretch.own = own;
    return work;
}

static void free_columns(struct share_work *work)
{
    free(work->cpu_ns);
    free(work->uses);
    free(work->room.class);
}

void share_work_delete(struct share_work *work)
{
    if (work == NULL)
        return;
    free_columns(work);
    free(work->last);
    free(work);
}

void share_work_reserve(struct share_work *work, size_t count)
{
    work->stretch.cpu_ns = work->stretch.cpu_sums;
    if (count <= work->capacity && work->capacity > 0)
        return;
    free_columns(work);
    work->cpu_ns = mem_zalloc(3 * count + STRETCH_ROOM + 1, sizeof *work->cpu_ns);
    work->of = work->cpu_ns + count + STRETCH_ROOM;
    work->room.take = work->of + count;
    work->room.class = mem_zalloc(count, sizeof *work->room.class);
    work->uses = mem_zalloc(count, sizeof *work->uses);
    work->capacity = count;
}

double share_work_first_most(const struct share_work *work)
{
    const struct stretch *s = &work->stretch;
    return s->ns[0] > 0 || s->count == 1 ? s->ns[0] : s->ns[1];
}

/* Sums in lanes, which do not wait for each other. Sums in this order are the same on every
 * machine. */
VECTORS
static double sum_of(const double *values, size_t count)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (size_t l = 0; l < 8; l++)
            sum[l] += values[i + l];
    for (; i < count; i++)
        sum[i % 8] += values[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

void share_work_find_sighted(struct share_work *work, const uint64_t *threads,
                             const struct stretch_use *uses)
{
    enum { MAX_LOOKED_AT = 128 }; /* enough: it is a property of the recording */
    const double noticeable = 0.05;
    struct stretch *s = &work->stretch;
    double until[STRETCH + 1], over = 0, all = 0;
    size_t running = 0;
    until[0] = 0;
    for (size_t i = 0, k = 0; i < s->count && running < MAX_LOOKED_AT; i++) {
        until[i + 1] = until[i] + s->ns[i];
        for (size_t end = k + threads[i]; k < end; k++) {
            double ns = until[i + 1] - until[i + 1 - (uses != NULL ? uses[k].reach : 1)];
            running += work->cpu_ns[k] > 0;
            all += work->cpu_ns[k];
            double more = work->cpu_ns[k] - ns;
            over += (more + fabs(more)) / 2; /* if positive: a branch would be random */
        }
    }
    s->sighted = over > noticeable * all;
}

/* Times for which the use of CPUs is known. */
struct use_times {
    size_t count;
    double ns[STRETCH], cpu_ns[STRETCH]; /* CPU_NS: of the threads */
};

static void find_use_times(const struct stretch *s, double time_ns, struct use_times *t)
{
    double least = s->sighted ? STRETCH_SIGHTINGS * time_ns / (double)s->count : 0;
    t->count = 0;
    for (size_t i = 0; i < s->count; t->count++) {
        size_t end = stretch_block_end(s->ns, i, s->count, least);
        t->ns[t->count] = t->cpu_ns[t->count] = 0;
        for (; i < end; i++) {
            t->ns[t->count] += s->ns[i];
            t->cpu_ns[t->count] += s->cpu_ns[i];
        }
    }
}

/* The CPU time that other programs get if they could always use a given number of CPUs, and the
 * time in which they get that many [ns]. */
struct others_part {
    double given, open;
};

/* Sums in lanes, like sum_of. */
VECTORS
static struct others_part part_of_others(const struct use_times *t, double cpus, double wanted)
{
    double given[8] = {0}, open[8] = {0};
    for (size_t i = 0; i < t->count; i++) {
        double want = wanted * t->ns[i], room = cpus * t->ns[i] - t->cpu_ns[i];
        given[i % 8] += want < room ? want : room > 0 ? room : 0;
        open[i % 8] += want < room ? t->ns[i] : 0;
    }
    return (struct others_part){sum_of(given, 8), sum_of(open, 8)};
}

/* The number of CPUs that other programs could use. The CPU time that they get rises less and less
 * with this number, so that steps along the slope never exceed the solution; there are few
 * different slopes. */
static double wanted_by_others(const struct stretch *s, double others_ns, double time_ns)
{
    enum { MAX_STEPS = 40 };
    struct use_times times;
    double wanted = others_ns / time_ns;
    find_use_times(s, time_ns, &times);
    for (int step = 0; step < MAX_STEPS; step++) {
        struct others_part part = part_of_others(&times, s->cpus, wanted);
        double lack = others_ns - part.given;
        if (lack <= 1e-9 * others_ns)
            return wanted;
        if (part.open <= 0)
            return s->cpus; /* all CPUs that the threads leave */
        wanted += lack / part.open;
    }
    return wanted;
}

void stretch_find_others(struct stretch *s, const double *busy_ns, double cpus)
{
    const double least = 2e7;
    s->others = 0;
    if (busy_ns == NULL)
        return;
    double time = sum_of(s->ns, s->count), busy = sum_of(busy_ns, s->count);
    double others = busy - sum_of(s->cpu_ns, s->count);
    if (!(others > least && time > 0))
        return;
    s->cpus = fmax(cpus, busy / time);
    s->others = wanted_by_others(s, others, time);
}

bool share_work_in_turn(const struct share_work *work, const uint64_t *thread, size_t count)
{
    uint64_t runner = UINT64_MAX;
    for (size_t k = 0; k < count; k++) {
        if (work->cpu_ns[k] > 0 && runner != UINT64_MAX && thread[k] != runner)
            return false;
        runner = work->cpu_ns[k] > 0 ? thread[k] : runner;
    }
    return true;
}

/* ---- where CPU time was used ---- */

static void remember(struct share_work *work, uint64_t thread, size_t sample, size_t at)
{
    if (thread >= work->threads) {
        mem_reserve(&work->last, &work->thread_capacity, thread + 1, sizeof *work->last);
        for (; work->threads < work->thread_capacity; work->threads++)
            work->last[work->threads] = (struct thread_place){SIZE_MAX, SIZE_MAX};
    }
    work->last[thread] = (struct thread_place){sample, at};
}

/* The number of intervals up to I that contain CPU_NS, at least 1 and at most MOST. UNTIL: the time
 * at the beginning of each interval. */
static inline uint32_t find_reach(const double *until, size_t i, size_t most, double cpu_ns)
{
    size_t low = 1, high = most;
    double wanted = cpu_ns * (1 - 1e-9);
    if (until[i + 1] - until[i] >= wanted) /* the common case */
        return 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (until[i + 1] - until[i + 1 - middle] >= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return (uint32_t)low;
}

/* CPU time was not used earlier than necessary, and not before the thread's last sample in this
 * stretch. */
static void find_uses(struct share_work *work, const double *until, const uint64_t *threads,
                      const uint64_t *thread)
{
    for (size_t i = 0, k = 0, begin = 0; i < work->stretch.count; i++, begin = k) {
        for (size_t end = k + threads[i]; k < end; k++) {
            struct thread_place p = {SIZE_MAX, SIZE_MAX};
            if (thread[k] < work->threads)
                p = work->last[thread[k]];
            bool known = p.sample < i && p.at < begin && thread[p.at] == thread[k];
            size_t most = known ? i - p.sample : i + 1;
            uint32_t reach = find_reach(until, i, most, work->cpu_ns[k]);
            bool shared = known && reach == most && work->cpu_ns[p.at] > 0 && !work->stretch.own;
            work->uses[k] = (struct stretch_use){shared ? p.at : SIZE_MAX, reach,
                                                 known ? (uint32_t)p.at : STRETCH_NONE};
        }
        for (size_t end = k, at = begin; at < end; at++)
            remember(work, thread[at], i, at);
    }
}

/* Sets the CPU time of each interval. */
static void add_uses(struct share_work *work, const double *until, const uint64_t *threads)
{
    struct stretch *s = &work->stretch;
    double step[STRETCH + 1] = {0}, rate = 0;
    for (size_t i = 0, k = 0; i < s->count; i++) {
        s->cpu_ns[i] = 0;
        for (size_t end = k + threads[i]; k < end; k++) {
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
    for (size_t i = 0; i < s->count; i++) {
        rate += step[i];
        s->cpu_ns[i] += fmax(0, rate) * s->ns[i];
    }
}

void share_work_find_uses(struct share_work *work, const uint64_t *threads, const uint64_t *thread)
{
    double until[STRETCH + 1] = {0};
    for (size_t i = 0; i < work->stretch.count; i++)
        until[i + 1] = until[i] + work->stretch.ns[i];
    find_uses(work, until, threads, thread);
    add_uses(work, until, threads);
}

void share_work_settle(struct share_work *work, const uint64_t *threads,
                       const struct stretch_use *uses)
{
    struct stretch *s = &work->stretch;
    if (work->undivided) {
        stretch_find_windows(s);
    } else {
        stretch_settle(s);
        stretch_divide(s, threads, work->cpu_ns, uses, &work->room, work->of);
    }
    work->windows += s->updates;
    work->intervals += s->updates > 0 ? s->count : 0;
}

size_t share_work_find_last(const struct share_work *work, size_t thread_samples)
{
    /* far more than the remainder of a stretch, so that subtracting this leaves no negative
     * energy */
    double least = 1e-9 * fabs(work->stretch.all);
    size_t last = work->undivided ? 0 : thread_samples;
    while (last > 0 && !(work->cpu_ns[last - 1] > 0 && fabs(work->of[last - 1]) > least))
        last--;
    return last;
}
