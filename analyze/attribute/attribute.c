/* Attribution: weighs samples, selects them, and charges them to rows.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/attribute_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/labels.h"
#include "analyze/attribute/weigh_packed.h"
#include "analyze/attribute/stretch_work.h"
#include "base/memory.h"
#include "base/vectors.h"

static const struct selection everything;

/* Converts SECONDS to a time; the result is at most the largest time. */
static exact time_of(double seconds)
{
    double ns = seconds * 1e9;
    return exact_fits(ns, TIME_SHIFT, WEIGH_ROOM) ? exact_of_double(ns, TIME_SHIFT) : EXACT_MAX;
}

void attribution_start(struct attribution *a, const struct pbin_meta *meta,
                       const struct quantity *quantity, const struct attribution_options *options,
                       struct rowset *rows)
{
    memset(a, 0, sizeof *a);
    a->meta = meta;
    a->selection = options->selection != NULL ? options->selection : &everything;
    a->rows = rows;
    a->start = time_of(a->selection->start);
    a->end = time_of(a->selection->end);
    weigher_start(&a->weigher, meta, quantity, &options->weigh);
    key_map_init(&a->keys, rows, &options->keys, a->selection, meta->target, options->code);
    a->keys.names = options->names;
    if (options->fit)
        a->fit = fit_new();
}

void attribution_free(struct attribution *a)
{
    weigher_free(&a->weigher);
    weigher_free(&a->head);
    key_map_free(&a->keys);
    os_threads_free(&a->os);
    free(a->first_row);
    free(a->last_row);
    free(a->marker);
    free(a->in_marker);
    fit_delete(a->fit);
    free(a->fit_rows);
    free(a->fit_equal);
}

/* Charges thread samples K to END of the window to their rows. */
static void charge_threads(struct attribution *a, const struct pbin_definitions *all,
                           const struct weighed *v, size_t k, size_t end)
{
    exact time = 0, energy = 0; /* each time is below 2^97, so that their sum fits */
    bool overflow = false;
    for (; k < end; k++) {
        uint32_t row = key_map_row(&a->keys, all, v->thread[k], v->location[k]);
        struct row_sums *sums = &a->rows->sums[row];
        sums->touched = true;
        sums->samples += (exact)1 << SAMPLES_SHIFT;
        sums->entries += attribution_enter(a, os_thread(&a->os, v->thread[k]), row);
        overflow |= __builtin_add_overflow(sums->time, v->time_of[k], &sums->time);
        overflow |= __builtin_add_overflow(sums->energy, v->energy_of[k], &sums->energy);
        overflow |= __builtin_add_overflow(time, v->time_of[k], &time);
        overflow |= __builtin_add_overflow(energy, v->energy_of[k], &energy);
    }
    overflow |= __builtin_add_overflow(a->time, time, &a->time);
    overflow |= __builtin_add_overflow(a->energy, energy, &a->energy);
    a->rows->overflow |= overflow;
}

static void charge_label(struct attribution *a, const char *label, exact time, exact energy)
{
    struct row_sums *sums = key_map_label(&a->keys, label);
    bool overflow = __builtin_add_overflow(sums->time, time, &sums->time);
    overflow |= __builtin_add_overflow(sums->energy, energy, &sums->energy);
    overflow |= __builtin_add_overflow(a->time, time, &a->time);
    overflow |= __builtin_add_overflow(a->energy, energy, &a->energy);
    a->rows->overflow |= overflow;
}

/* Charges sample I of the window, whose thread samples start at K. */
static void charge_sample(struct attribution *a, const struct pbin_definitions *all,
                          const struct weighed *v, size_t i, size_t k)
{
    if (v->gap_time[i] > 0)
        charge_label(a, LABEL_GAP, a->weigher.options.wall_time ? v->gap_time[i] : 0,
                     v->gap_energy[i]);
    charge_threads(a, all, v, k, k + v->threads[i]);
    if (v->idle_energy[i] != 0)
        charge_label(a, LABEL_IDLE, 0, v->idle_energy[i]);
    if (v->others_energy[i] != 0)
        charge_label(a, LABEL_OTHERS, 0, v->others_energy[i]);
}

/* Returns whether all sums of the window belong to threads. */
static bool is_threads_only(const struct weighed *v)
{
    exact any = 0;
    for (size_t i = 0; i < v->count; i++)
        any |= v->gap_time[i] | v->idle_energy[i] | v->others_energy[i];
    return any == 0;
}

static void count_sample(struct attribution *a, const struct weighed *v, size_t i)
{
    exact measured = exact_of_double(v->energy[i], ENERGY_SHIFT);
    if (v->gap_time[i] > 0)
        a->rows->overflow |= __builtin_add_overflow(measured, v->gap_energy[i], &measured);
    a->rows->overflow |= __builtin_add_overflow(a->measured, measured, &a->measured);
    a->samples++;
    a->bad_values += v->bad_values[i];
    a->crowded += !a->meta->cpu_time && v->threads[i] > 1;
    gaps_count(&a->gaps, v->interval_ns[i], v->at[i]);
}

static void new_threads(struct attribution *a, const struct pbin_definitions *all)
{
    size_t count = all->thread_count;
    os_threads_add(&a->os, all);
    if (count <= a->thread_count)
        return;
    size_t grown = (count - a->thread_count) * sizeof *a->last_row;
    mem_reserve(&a->first_row, &a->first_row_capacity, count, sizeof *a->first_row);
    mem_reserve(&a->last_row, &a->last_row_capacity, count, sizeof *a->last_row);
    mem_reserve(&a->in_marker, &a->in_marker_capacity, count, 1);
    memset(a->first_row + a->thread_count, 0xff, grown); /* sets them to NO_ROW */
    memset(a->last_row + a->thread_count, 0xff, grown);
    memset(a->in_marker + a->thread_count, 0, count - a->thread_count);
    a->thread_count = count;
}

/* Returns whether LOCATION is in the marker function, or in code inlined into it. This is
 * determined once per location. */
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
                function_matches(a->selection->phase, strings_get(all->strings, frame->demangled)))
                a->marker[location] = 1;
        }
    }
    return a->marker[location] == 1;
}

/* Updates the phase with sample I of NEXT, whose thread samples start at K. */
static void follow_phase(struct attribution *a, const struct pbin_definitions *all,
                         const struct pbin_samples *next, size_t i, size_t k)
{
    for (size_t end = k + next->threads[i]; k < end; k++) {
        bool here = is_marker(a, all, key_map_location(&a->keys, all, next->location[k]));
        uint64_t thread = os_thread(&a->os, next->thread[k]);
        a->phase += here && !a->in_marker[thread];
        a->in_marker[thread] = here;
    }
}

static bool selects_by_time(const struct attribution *a)
{
    return a->selection->has_window || a->selection->phase != NULL;
}

/* Sets SELECTED for the samples of the next window. Returns how many are selected. */
static size_t select_samples(struct attribution *a, const struct pbin_definitions *all,
                             const struct pbin_samples *next, bool *selected)
{
    const struct selection *s = a->selection;
    size_t count = 0;
    exact at = a->weigher.at;
    for (size_t i = 0, k = 0; i < next->count; k += next->threads[i++]) {
        at += weigher_elapsed(&a->weigher, next->interval_ns[i]);
        if (s->phase != NULL)
            follow_phase(a, all, next, i, k);
        bool inside = !s->has_window || (at >= a->start && at < a->end);
        bool in_phase =
            s->phase == NULL || (s->phase_number == 0 ? a->phase > 0 : a->phase == s->phase_number);
        selected[i] = inside && in_phase;
        count += selected[i];
    }
    return count;
}

/* Returns whether all sources are known, and show powers. */
static bool shows_powers(const struct pbin_definitions *all)
{
    for (size_t i = 0; i < all->source_count; i++)
        if (pbin_source_is_counter(all->strings, &all->sources[i]))
            return false;
    return all->source_count > 0;
}

void attribute_fit(struct attribution *a, const struct pbin_definitions *all,
                   const uint64_t *thread, const uint64_t *location, struct fit_view *view)
{
    mem_reserve(&a->fit_rows, &a->fit_capacity, view->thread_samples + 1, sizeof *a->fit_rows);
    attribution_rows(a, all, thread, location, view->thread_samples, a->fit_rows);
    view->row = a->fit_rows;
    view->powers = shows_powers(all);
    stretch_number(&a->weigher.share->stretch);
    fit_add_stretch(a->fit, view);
}

/* Puts equal CPU times of V in VIEW, if it has any. */
static void take_equal_times(struct attribution *a, const struct weighed *v, struct fit_view *view)
{
    if (v->equal_ns == NULL)
        return;
    size_t count = v->thread_samples;
    double most = view->number == 0 ? share_work_first_most(a->weigher.share) : INFINITY;
    mem_reserve(&a->fit_equal, &a->fit_equal_capacity, 2 * count + 1, sizeof *a->fit_equal);
    for (size_t k = 0; k < count; k++) {
        double ns = (double)v->equal_ns[k];
        a->fit_equal[k] = k < v->threads[0] ? fmin(ns, most) : ns;
        a->fit_equal[count + k] = view->cpu_ns[k] - a->fit_equal[k];
    }
    view->cpu_ns = a->fit_equal;
    view->more_ns = a->fit_equal + count;
}

static void fit_window(struct attribution *a, const struct pbin_definitions *all,
                       const struct weighed *v, const bool *selected)
{
    const struct share_work *work = a->weigher.share;
    struct fit_view view = {.stretch = &work->stretch,
                            .threads = v->threads,
                            .uses = work->uses,
                            .cpu_ns = work->cpu_ns,
                            .counts = selected,
                            .own = (enum pbin_own)a->meta->own_intervals,
                            .cpu_known = a->meta->cpu_time,
                            .thread_samples = v->thread_samples,
                            .number = a->weigher.number - v->count};
    take_equal_times(a, v, &view);
    attribute_fit(a, all, v->thread, v->location, &view);
}

/* Attributes the next window, or only its SELECTED samples (NULL: all). Returns false if no window
 * is complete. */
static bool attribute_window(struct attribution *a, const struct pbin_definitions *all,
                             const bool *selected)
{
    const struct weighed *v = weigher_next(&a->weigher);
    if (v == NULL)
        return false;
    bool at_once = selected == NULL && is_threads_only(v);
    if (at_once)
        charge_threads(a, all, v, 0, v->thread_samples);
    exact before = v->begin, wall = 0;
    for (size_t i = 0, k = 0; i < v->count; k += v->threads[i++]) {
        if (selected == NULL || selected[i]) {
            if (!at_once)
                charge_sample(a, all, v, i, k);
            count_sample(a, v, i);
            wall += v->at[i] - before;
        }
        before = v->at[i];
    }
    a->wall += wall;
    if (a->fit != NULL)
        fit_window(a, all, v, selected);
    return true;
}

/* Attributes COUNT samples: the next window or the first part of it. Either all or none of them are
 * SELECTED. If none are, their energies are computed only if a window for least squares continues
 * in them. */
static void attribute_part(struct attribution *a, const struct pbin_definitions *all, size_t count,
                           const bool *selected)
{
    struct weigher *w = &a->weigher;
    weigher_limit(w, count);
    if (selected[0])
        attribute_window(a, all, NULL);
    else if (a->fit != NULL)
        attribute_window(a, all, selected);
    else
        weigher_pass(w);
    weigher_limit(w, 0);
}

/* Attributes the selected parts of the next window. Each part becomes a separate window, so that
 * the energy of a selection is the energy of its intervals. Returns false if no window is
 * complete. */
static bool attribute_selected(struct attribution *a, const struct pbin_definitions *all)
{
    struct weigher *w = &a->weigher;
    struct pbin_samples next;
    bool selected[STRETCH];
    if (!weigher_look(w, &next))
        return false;
    size_t size = next.count, count = select_samples(a, all, &next, selected);
    if (count == size && w->share != NULL && weigher_packs(w) &&
        attribute_packed(a, all, SIZE_MAX) > 0) {
        while (w->share->packed.left > 0)
            attribute_packed(a, all, SIZE_MAX);
        return true;
    }
    if (count == size)
        return attribute_window(a, all, NULL);
    if (w->share != NULL)
        weigher_find_others(w, &next);
    for (size_t begin = 0, end = 0; begin < size; begin = end) {
        while (end < size && selected[end] == selected[begin])
            end++;
        attribute_part(a, all, end - begin, selected + begin);
    }
    return true;
}

/* Attributes the samples that were added to the weigher. */
static void attribute_all(struct attribution *a, const struct pbin_definitions *all)
{
    bool packs = weigher_packs(&a->weigher), more = true;
    size_t max = SIZE_MAX;
    new_threads(a, all);
    key_map_reserve(&a->keys, all);
    while (selects_by_time(a))
        if (!attribute_selected(a, all))
            return;
    while (more) {
        size_t done = packs ? attribute_packed(a, all, max) : 0;
        /* back off, so that a large number of samples that do not fit causes few failed attempts */
        max = done > 0 ? 2 * done : 1;
        if (done == 0)
            more = attribute_window(a, all, NULL);
    }
}

void attribution_add(struct attribution *a, const struct pbin_samples *samples,
                     const struct pbin_definitions *all)
{
    struct pbin_samples rest = *samples;
    if (a->is_part) {
        weigher_set_aside(&a->head, &rest);
        if (rest.count == 0)
            return;
    }
    weigher_add(&a->weigher, &rest);
    attribute_all(a, all);
}

VECTORS
static uint64_t count_zeros(const uint64_t *values, size_t count)
{
    uint64_t zeros = 0;
    for (size_t i = 0; i < count; i++)
        zeros += values[i] == 0;
    return zeros;
}

/* Finds the location that records of CPU time without a sample use. */
static void find_unsampled(struct attribution *a, const struct pbin_definitions *all)
{
    for (; a->looked < all->location_count; a->looked++)
        if (strcmp(strings_get(all->strings, all->locations[a->looked].binary), LABEL_UNSAMPLED) ==
            0)
            a->unsampled = a->looked + 1;
}

void attribution_look(struct attribution *a, const struct pbin_samples *samples,
                      const struct pbin_definitions *all)
{
    if (!a->meta->cpu_time)
        return;
    find_unsampled(a, all);
    if (samples->cpu_least == 0)
        a->waiting += count_zeros(samples->cpu_ns, samples->thread_sample_count);
    for (size_t k = 0; a->unsampled > 0 && k < samples->thread_sample_count; k++)
        a->waiting += samples->location[k] + 1 == a->unsampled && samples->cpu_ns[k] > 0;
}

void attribution_end(struct attribution *a, const struct pbin_definitions *all)
{
    weigher_finish(&a->weigher);
    attribute_all(a, all);
    if (a->fit != NULL)
        fit_end(a->fit);
    rowset_fold(a->rows);
    rowset_add_checksums(a->rows, all->strings, all->checksums, all->checksum_count);
}

bool attribution_divides(const struct attribution *a)
{
    return !selects_by_time(a) && weigher_divides(&a->weigher);
}

void attribution_begin_part(struct attribution *a, uint64_t number)
{
    size_t step = a->weigher.options.model->step;
    uint64_t before = step > 0 ? (step - number % step) % step : 0;
    a->is_part = true;
    weigher_start(&a->head, a->meta, a->weigher.quantity, &a->weigher.options);
    weigher_begin_at(&a->head, before); /* number of samples to set aside */
    weigher_begin_at(&a->weigher, number + before);
}

void attribution_end_part(struct attribution *a)
{
    rowset_fold(a->rows);
}

/* A thread that is in the same row at the end of A and at the start of LATER has entered this row
 * once, not twice. */
static void join_threads(struct attribution *a, const struct attribution *later,
                         const uint32_t *row, const struct pbin_definitions *all)
{
    new_threads(a, all);
    for (size_t t = 0; t < later->thread_count; t++) {
        if (later->first_row[t] == NO_ROW)
            continue;
        uint32_t first = row[later->first_row[t]];
        a->rows->sums[first].entries -= a->last_row[t] == first;
        a->first_row[t] = a->first_row[t] == NO_ROW ? first : a->first_row[t];
        a->last_row[t] = row[later->last_row[t]];
    }
}

static void add_left(struct attribution *a, const struct weigher *from,
                     const struct pbin_definitions *all)
{
    struct pbin_samples left = weigher_left(from);
    if (left.count > 0)
        attribution_add(a, &left, all);
}

/* Adds the rows and sums of LATER, which follows. */
static void join_rows(struct attribution *a, const struct attribution *later,
                      const struct pbin_definitions *all)
{
    uint32_t *row = mem_alloc(later->rows->count * sizeof *row);
    bool overflow = later->rows->overflow;
    for (size_t i = 0; i < later->rows->count; i++) {
        row[i] = rowset_adopt(a->rows, later->rows, i);
        overflow |= !row_sums_merge(&a->rows->sums[row[i]], &later->rows->sums[i]);
    }
    join_threads(a, later, row, all);
    if (a->fit != NULL)
        fit_join(a->fit, later->fit, row);
    gaps_join(&a->gaps, &later->gaps, a->weigher.at);
    overflow |= __builtin_add_overflow(a->time, later->time, &a->time);
    overflow |= __builtin_add_overflow(a->energy, later->energy, &a->energy);
    overflow |= __builtin_add_overflow(a->measured, later->measured, &a->measured);
    a->weigher.at += later->weigher.at;
    if (a->weigher.share != NULL) {
        a->weigher.share->windows += later->weigher.share->windows;
        a->weigher.share->intervals += later->weigher.share->intervals;
    }
    a->wall += later->wall;
    a->samples += later->samples;
    a->bad_values += later->bad_values;
    a->crowded += later->crowded;
    a->waiting += later->waiting;
    a->rows->overflow |= overflow;
    free(row);
}

void attribution_join(struct attribution *a, struct attribution *later,
                      const struct pbin_definitions *all)
{
    add_left(a, &later->head, all);
    rowset_fold(a->rows);
    join_rows(a, later, all);
    if (later->samples > 0)
        weigher_begin_at(&a->weigher, later->weigher.number);
    add_left(a, &later->weigher, all);
}
