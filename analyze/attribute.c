/* Attribution: time by the threads' CPU time, energy by their shares of it.
 *
 *   sample i, interval d_i, power P_i, CPU time c_ij of thread j:
 *   time   += c_ij                            (without CPU time: d_i * min(1, cpus / threads))
 *   energy += P_i * d_i * c_ij / sum_j(c_ij)  (nobody used CPU: all of it to _idle)
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void attribution_start(struct attribution *a, const struct pbin_meta *meta,
                       const struct quantity *quantity, const struct aggregate_options *options,
                       struct rowset *rows)
{
    *a = (struct attribution){.meta = meta,
                              .quantity = quantity,
                              .model = options->model,
                              .rows = rows,
                              .idle_row = NO_ROW};
    key_map_init(&a->keys, rows, options->keys, options->key_count);
    if (!meta->times && meta->samples > 0) {
        a->even_time = ((exact)meta->wall_ns << TIME_SHIFT) / (exact)meta->samples;
        a->even_seconds = (double)meta->wall_ns / 1e9 / (double)meta->samples;
    }
}

void attribution_free(struct attribution *a)
{
    key_map_free(&a->keys);
    free(a->last_row);
}

/* One sample, with what the loops over its threads need. */
struct moment {
    const uint64_t *thread, *location, *cpu_ns;
    size_t count;
    exact interval; /* [2^-32 ns] */
    double energy;  /* [J] */
    double power;
};

static struct current *row_of(struct attribution *a, const struct pbin_definitions *all,
                              uint64_t thread, uint64_t location)
{
    uint32_t row = key_map_row(&a->keys, all, thread, location);
    struct current *current = &a->rows->current[row];
    current->touched = true;
    current->samples += (exact)1 << SAMPLES_SHIFT;
    current->entries += a->last_row[thread] != row;
    a->last_row[thread] = row;
    return current;
}

static struct current *idle_row(struct attribution *a)
{
    if (a->idle_row == NO_ROW)
        a->idle_row = rowset_find_label(a->rows, LABEL_IDLE);
    struct current *current = &a->rows->current[a->idle_row];
    current->touched = true;
    return current;
}

static void charge(struct attribution *a, struct current *current, exact time, exact energy)
{
    current->time += time;
    current->energy += energy;
    a->time += time;
    a->energy += energy;
}

/* Shares by CPU time. What rounding leaves goes to the last thread that has some, so that the sum stays exact. */
static void attribute_by_cpu(struct attribution *a, const struct pbin_definitions *all,
                             const struct moment *m)
{
    uint64_t total = 0;
    size_t last = 0;
    for (size_t j = 0; j < m->count; j++) {
        total += m->cpu_ns[j];
        last = m->cpu_ns[j] > 0 ? j : last;
    }
    exact left = exact_of_double(m->energy, ENERGY_SHIFT);
    for (size_t j = 0; j < m->count; j++) {
        struct current *current = row_of(a, all, m->thread[j], m->location[j]);
        uint64_t cpu_ns = m->cpu_ns[j];
        if (cpu_ns == 0)
            continue;
        exact part = left;
        if (a->model == ENERGY_THREAD)
            part = exact_of_double(m->power * ((double)cpu_ns / 1e9), ENERGY_SHIFT);
        else if (j != last)
            part = exact_of_double(m->energy * ((double)cpu_ns / (double)total), ENERGY_SHIFT);
        charge(a, current, (exact)cpu_ns << TIME_SHIFT, part);
        left -= part;
    }
    if (total == 0 && m->energy != 0)
        charge(a, idle_row(a), 0, left);
}

/* Without CPU time every thread counts alike: each ran, as far as there were CPUs. */
static void attribute_evenly(struct attribution *a, const struct pbin_definitions *all,
                             const struct moment *m)
{
    exact left = exact_of_double(m->energy, ENERGY_SHIFT), time = m->interval;
    if (m->count == 0) {
        if (m->energy != 0)
            charge(a, idle_row(a), 0, left);
        return;
    }
    a->crowded += m->count > 1;
    if (a->meta->cpus > 0 && m->count > a->meta->cpus)
        time = time * (exact)a->meta->cpus / (exact)m->count;
    exact part = left / (exact)m->count;
    if (a->model == ENERGY_THREAD)
        part = exact_of_double(m->power * exact_to_double(time, TIME_SHIFT, 1000000000),
                               ENERGY_SHIFT);
    for (size_t j = 0; j < m->count; j++) {
        struct current *current = row_of(a, all, m->thread[j], m->location[j]);
        bool rest = j + 1 == m->count && a->model == ENERGY_SHARE;
        charge(a, current, time, rest ? left : part);
        left -= part;
    }
}

static void new_threads(struct attribution *a, size_t count)
{
    if (count <= a->thread_count)
        return;
    mem_reserve(&a->last_row, &a->thread_capacity, count, sizeof *a->last_row);
    memset(a->last_row + a->thread_count, 0xff, (count - a->thread_count) * sizeof *a->last_row);
    a->thread_count = count;
}

/* Interval and energy of sample I. */
static void weigh(struct attribution *a, const struct pbin_samples *s, size_t i, struct moment *m)
{
    double seconds = a->even_seconds;
    m->interval = a->even_time;
    if (a->meta->times) {
        m->interval = (exact)s->interval_ns[i] << TIME_SHIFT;
        seconds = (double)s->interval_ns[i] / 1e9;
    }
    a->wall_ns += s->interval_ns[i];
    m->power = a->quantity->name != NULL ? s->value[i] * a->quantity->scale : 0;
    m->energy = m->power * seconds;
    /* twice the range, as every thread may be charged with it */
    if (!exact_fits(m->energy, ENERGY_SHIFT + 24) || !exact_fits(m->power, ENERGY_SHIFT + 24)) {
        a->bad_values++;
        m->power = m->energy = 0;
    }
}

void attribution_add(struct attribution *a, const struct pbin_samples *s,
                     const struct pbin_definitions *all)
{
    struct moment m = {.thread = s->thread, .location = s->location, .cpu_ns = s->cpu_ns};
    new_threads(a, all->thread_count);
    for (size_t i = 0; i < s->count; i++) {
        m.count = s->threads[i];
        weigh(a, s, i, &m);
        if (a->meta->cpu_time)
            attribute_by_cpu(a, all, &m);
        else
            attribute_evenly(a, all, &m);
        m.thread += m.count;
        m.location += m.count;
        m.cpu_ns += m.count;
    }
    a->samples += s->count;
}
