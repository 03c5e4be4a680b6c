/* Attribution: time by the threads' CPU time, energy by their shares of it.
 *
 *   sample i, interval d_i, power P_i, CPU time c_ij of thread j:
 *   time   += c_ij                            (without CPU time: d_i * min(1, cpus / threads))
 *   energy += P_i * d_i * c_ij / sum_j(c_ij)  (nobody used CPU: all of it to _idle)
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/attribute_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct selection everything;

/* The time of SECONDS, or the last one there is. */
static exact time_of(double seconds)
{
    double ns = seconds * 1e9;
    return exact_fits(ns, TIME_SHIFT, ROOM) ? exact_of_double(ns, TIME_SHIFT) : EXACT_MAX;
}

void attribution_start(struct attribution *a, const struct pbin_meta *meta,
                       const struct quantity *quantity, const struct aggregate_options *options,
                       struct rowset *rows)
{
    memset(a, 0, sizeof *a);
    a->meta = meta;
    a->quantity = quantity;
    a->selection = options->selection != NULL ? options->selection : &everything;
    a->model = options->model;
    a->rows = rows;
    a->start = time_of(a->selection->start);
    a->end = time_of(a->selection->end);
    key_map_init(&a->keys, rows, &options->keys, a->selection, meta->target);
    if (meta->samples == 0)
        return;
    if (!meta->times) {
        a->even_time = ((exact)meta->wall_ns << TIME_SHIFT) / (exact)meta->samples;
        a->even_seconds = (double)meta->wall_ns / 1e9 / (double)meta->samples;
    }
    if (a->selection->subtract_latency)
        a->latency = ((exact)meta->latency_ns << TIME_SHIFT) / (exact)meta->samples;
}

void attribution_free(struct attribution *a)
{
    key_map_free(&a->keys);
    free(a->first_row);
    free(a->last_row);
    free(a->marker);
    free(a->in_marker);
}

static struct current *row_of(struct attribution *a, const struct pbin_definitions *all,
                              uint64_t thread, uint64_t location)
{
    uint32_t row = key_map_row(&a->keys, all, thread, location);
    struct current *current = &a->rows->current[row];
    current->touched = true;
    current->samples += (exact)1 << SAMPLES_SHIFT;
    current->entries += attribution_enter(a, thread, row);
    return current;
}

struct current *attribution_label(struct attribution *a, const char *label)
{
    uint32_t row = key_map_label(&a->keys, label); /* may move the rows */
    struct current *current = &a->rows->current[row];
    current->touched = true;
    return current;
}

void attribution_charge(struct attribution *a, struct current *current, exact time, exact energy)
{
    bool overflow = __builtin_add_overflow(current->time, time, &current->time);
    overflow |= __builtin_add_overflow(current->energy, energy, &current->energy);
    overflow |= __builtin_add_overflow(a->time, time, &a->time);
    overflow |= __builtin_add_overflow(a->energy, energy, &a->energy);
    a->rows->overflow |= overflow;
}

/* A thread's own energy; its CPU time may be far longer than the interval. */
static exact part_of_thread(struct attribution *a, double energy)
{
    a->bad_values += !is_summable(energy);
    return is_summable(energy) ? exact_of_double(energy, ENERGY_SHIFT) : 0;
}

/* Shares by CPU time. What rounding leaves goes to the last thread that has some, so that the sum stays exact. */
static void attribute_by_cpu(struct attribution *a, const struct pbin_definitions *all,
                             const struct moment *m)
{
    uint64_t total = 0, wraps = 0;
    size_t last = 0;
    bool wall_time = a->selection->wall_time;
    for (size_t j = 0; j < m->count; j++) {
        wraps += __builtin_add_overflow(total, m->cpu_ns[j], &total);
        last = m->cpu_ns[j] > 0 ? j : last;
    }
    double whole = 0x1p64 * (double)wraps + (double)total,
           per_ns = whole > 0 ? m->energy / whole : 0;
    exact left = exact_of_double(m->energy, ENERGY_SHIFT);
    for (size_t j = 0; j < m->count; j++) {
        struct current *current = row_of(a, all, m->thread[j], m->location[j]);
        uint64_t cpu_ns = m->cpu_ns[j];
        exact part = 0;
        if (cpu_ns == 0 && !wall_time)
            continue;
        if (cpu_ns > 0 && a->model == ENERGY_THREAD)
            part = part_of_thread(a, m->power * ((double)cpu_ns / 1e9));
        else if (cpu_ns > 0)
            part = j == last ? left : exact_of_double(per_ns * (double)cpu_ns, ENERGY_SHIFT);
        attribution_charge(a, current, wall_time ? m->interval : (exact)cpu_ns << TIME_SHIFT, part);
        left -= part;
    }
    if (whole == 0 && left != 0)
        attribution_charge(a, attribution_label(a, LABEL_IDLE), 0, left);
}

/* Without CPU time every thread counts alike: each ran, as far as there were CPUs. */
static void attribute_evenly(struct attribution *a, const struct pbin_definitions *all,
                             const struct moment *m)
{
    exact left = exact_of_double(m->energy, ENERGY_SHIFT), time = m->interval;
    if (m->count == 0) {
        if (left != 0)
            attribution_charge(a, attribution_label(a, LABEL_IDLE), 0, left);
        return;
    }
    a->crowded += m->count > 1;
    if (a->meta->cpus > 0 && m->count > a->meta->cpus && !a->selection->wall_time)
        time = time * (exact)a->meta->cpus / (exact)m->count;
    exact part = left / (exact)m->count;
    if (a->model == ENERGY_THREAD)
        part = part_of_thread(a, m->power * exact_to_double(time, TIME_SHIFT, 1000000000));
    for (size_t j = 0; j < m->count; j++) {
        struct current *current = row_of(a, all, m->thread[j], m->location[j]);
        bool rest = j + 1 == m->count && a->model == ENERGY_SHARE;
        attribution_charge(a, current, time, rest ? left : part);
        left -= part;
    }
}

static void new_threads(struct attribution *a, size_t count)
{
    if (count <= a->thread_count)
        return;
    size_t grown = (count - a->thread_count) * sizeof *a->last_row;
    mem_reserve(&a->first_row, &a->first_row_capacity, count, sizeof *a->first_row);
    mem_reserve(&a->last_row, &a->last_row_capacity, count, sizeof *a->last_row);
    mem_reserve(&a->in_marker, &a->in_marker_capacity, count, 1);
    memset(a->first_row + a->thread_count, 0xff, grown); /* NO_ROW */
    memset(a->last_row + a->thread_count, 0xff, grown);
    memset(a->in_marker + a->thread_count, 0, count - a->thread_count);
    a->thread_count = count;
}

/* Is LOCATION in the marker function, as a function or as one that was inlined? Asked once each. */
static bool is_marker(struct attribution *a, const struct pbin_definitions *all, uint64_t location)
{
    if (location >= a->marker_count) {
        mem_reserve(&a->marker, &a->marker_capacity, all->location_count, 1);
        memset(a->marker + a->marker_count, 0, a->marker_capacity - a->marker_count);
        a->marker_count = a->marker_capacity;
    }
    if (a->marker[location] == 0) {
        const struct pbin_location *at = &all->locations[location];
        a->marker[location] = 2;
        for (uint32_t i = 0; i < at->frame_count; i++) {
            const struct pbin_frame *frame = &all->frames[at->first_frame + i];
            if (strcmp(strings_get(all->strings, frame->function), a->selection->phase) == 0 ||
                strcmp(strings_get(all->strings, frame->demangled), a->selection->phase) == 0)
                a->marker[location] = 1;
        }
    }
    return a->marker[location] == 1;
}

static void follow_phase(struct attribution *a, const struct pbin_definitions *all,
                         const struct moment *m)
{
    for (size_t j = 0; j < m->count; j++) {
        bool here = is_marker(a, all, m->location[j]);
        a->phase += here && !a->in_marker[m->thread[j]];
        a->in_marker[m->thread[j]] = here;
    }
}

/* Does the sample count at all? */
static bool counts(struct attribution *a, const struct pbin_definitions *all,
                   const struct moment *m)
{
    const struct selection *s = a->selection;
    if (s->phase != NULL)
        follow_phase(a, all, m);
    if (s->has_window && (a->at < a->start || a->at >= a->end))
        return false;
    return s->phase == NULL || (s->phase_number == 0 ? a->phase > 0 : a->phase == s->phase_number);
}

/* Takes the sampler's own time off the interval; what an interval is too short for is owed by the next. */
static void pay_latency(struct attribution *a, struct moment *m)
{
    a->debt += a->latency;
    exact paid = a->debt < m->interval ? a->debt : m->interval;
    m->interval -= paid;
    a->debt -= paid;
}

/* What lies beyond the longest interval goes to _gap. Returns its seconds. */
static double cut_gap(struct attribution *a, struct moment *m)
{
    exact most = exact_of_double(a->selection->max_gap * 1e9, TIME_SHIFT);
    exact beyond = m->interval - most;
    if (beyond <= 0)
        return 0;
    m->interval = most;
    attribution_charge(a, attribution_label(a, LABEL_GAP), a->selection->wall_time ? beyond : 0, 0);
    return exact_to_double(beyond, TIME_SHIFT, 1000000000);
}

/* Interval, power and energy of sample I. */
static void weigh(struct attribution *a, const struct pbin_samples *s, size_t i, struct moment *m)
{
    double seconds = a->even_seconds, beyond = 0;
    m->interval = a->even_time;
    if (a->meta->times) {
        m->interval = (exact)s->interval_ns[i] << TIME_SHIFT;
        seconds = (double)s->interval_ns[i] / 1e9;
    }
    a->wall += m->interval;
    if (a->latency > 0 || a->selection->max_gap > 0) {
        pay_latency(a, m);
        beyond = a->selection->max_gap > 0 ? cut_gap(a, m) : 0;
        seconds = exact_to_double(m->interval, TIME_SHIFT, 1000000000);
    }
    m->power = a->quantity->name != NULL ? s->value[i] * a->quantity->scale : 0;
    m->energy = m->power * seconds;
    if (!is_summable(m->energy) || !is_summable(m->power) || !is_summable(m->power * beyond)) {
        a->bad_values++;
        m->power = m->energy = 0;
    }
    if (beyond > 0)
        attribution_charge(a, attribution_label(a, LABEL_GAP), 0,
                           exact_of_double(m->power * beyond, ENERGY_SHIFT));
}

void attribution_end(struct attribution *a)
{
    rowset_fold(a->rows);
}

static void add_one(struct attribution *a, const struct pbin_definitions *all,
                    const struct pbin_samples *s, size_t i, struct moment *m)
{
    bool select = a->selection->has_window || a->selection->phase != NULL;
    m->count = s->threads[i];
    a->at += a->meta->times ? (exact)s->interval_ns[i] << TIME_SHIFT : a->even_time;
    if (!select || counts(a, all, m)) {
        weigh(a, s, i, m);
        if (a->meta->cpu_time)
            attribute_by_cpu(a, all, m);
        else
            attribute_evenly(a, all, m);
        a->samples++;
        gaps_count(&a->gaps, s->interval_ns[i], a->at);
    }
    m->thread += m->count;
    m->location += m->count;
    m->cpu_ns += m->count;
}

bool attribution_divides(const struct attribution *a)
{
    return !a->selection->has_window && a->selection->phase == NULL && a->latency == 0;
}

/* Threads that were in a row and are there again have not entered it twice. */
static void join_threads(struct attribution *a, const struct attribution *later,
                         const uint32_t *row)
{
    new_threads(a, later->thread_count);
    for (size_t t = 0; t < later->thread_count; t++) {
        if (later->first_row[t] == NO_ROW)
            continue;
        uint32_t first = row[later->first_row[t]];
        a->rows->current[first].entries -= a->last_row[t] == first;
        a->first_row[t] = a->first_row[t] == NO_ROW ? first : a->first_row[t];
        a->last_row[t] = row[later->last_row[t]];
    }
}

void attribution_join(struct attribution *a, const struct attribution *later)
{
    uint32_t *row = mem_alloc(later->rows->count * sizeof *row);
    bool overflow = later->rows->overflow;
    for (size_t i = 0; i < later->rows->count; i++) {
        row[i] = rowset_adopt(a->rows, later->rows, i);
        overflow |= !current_merge(&a->rows->current[row[i]], &later->rows->current[i]);
    }
    join_threads(a, later, row);
    gaps_join(&a->gaps, &later->gaps, a->at);
    overflow |= __builtin_add_overflow(a->time, later->time, &a->time);
    overflow |= __builtin_add_overflow(a->energy, later->energy, &a->energy);
    a->at += later->at;
    a->wall += later->wall;
    a->samples += later->samples;
    a->bad_values += later->bad_values;
    a->crowded += later->crowded;
    a->rows->overflow |= overflow;
    free(row);
}

static bool may_be_usual(const struct attribution *a)
{
    const struct selection *s = a->selection;
    bool corrected = s->has_window || s->phase != NULL || s->max_gap > 0 || s->wall_time;
    return a->meta->cpu_time && a->model == ENERGY_SHARE && !corrected && a->latency == 0;
}

void attribution_add(struct attribution *a, const struct pbin_samples *s,
                     const struct pbin_definitions *all)
{
    struct moment m = {.thread = s->thread, .location = s->location, .cpu_ns = s->cpu_ns};
    bool usual = may_be_usual(a);
    size_t most = SIZE_MAX;
    new_threads(a, all->thread_count);
    key_map_reserve(&a->keys, all);
    for (size_t i = 0; i < s->count;) {
        size_t done = usual ? attribute_usual(a, all, s, i, most, &m) : 0;
        /* where unusual samples are many, little is tried in vain */
        most = done > 0 ? 2 * done : 1;
        if (done == 0)
            add_one(a, all, s, i, &m);
        i += done > 0 ? done : 1;
    }
}
