/* Aggregation: merging, and the results.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/aggregate_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/words.h"
#include "base/memory.h"

struct aggregate *aggregate_new(const struct aggregate_options *options)
{
    struct aggregate *a = mem_zalloc(1, sizeof *a);
    a->options = *options;
    a->arc_keys = strings_new();
    rowset_init(&a->rows, &a->options.rows.keys);
    if (options->rows.fit) { /* windows do not include other programs */
        a->fit = fit_new();
        a->options.rows.weigh.ignore_others = true;
    }
    return a;
}

void aggregate_delete(struct aggregate *a)
{
    if (a == NULL)
        return;
    pbin_meta_free(&a->meta);
    free(a->first);
    measures_free(&a->measures);
    rowset_free(&a->rows);
    strings_delete(a->arc_keys);
    free(a->runs);
    free(a->arcs);
    fit_delete(a->fit);
    free(a->fitted);
    free(a);
}

/* Drops texts that differ between profiles, except those that were compared: the unit, which is
 * part of the quantity, and the attribution. */
static void forget_what_differs(struct aggregate *a, const struct pbin_meta *meta)
{
    for (size_t i = 0; i < pbin_field_count; i++) {
        const struct pbin_field *field = &pbin_fields[i];
        char **mine = (char **)((char *)&a->meta + field->at);
        char *const *theirs = (char *const *)((const char *)meta + field->at);
        bool same =
            field->type != 's' || *mine == NULL || (*theirs != NULL && strcmp(*mine, *theirs) == 0);
        bool compared = field->at == offsetof(struct pbin_meta, unit) ||
                        field->at == offsetof(struct pbin_meta, attribution);
        if (same || compared)
            continue;
        free(*mine);
        *mine = NULL;
    }
}

/* Currents of different supply voltages, or currents and powers, become powers, so that the result
 * does not depend on the order of the profiles. */
static void join_kinds(struct aggregate *a, const struct pbin_meta *meta)
{
    bool custom = a->quantity.name != NULL && strcmp(a->quantity.name, "integral") == 0;
    bool energy = a->quantity.name != NULL && strcmp(a->quantity.name, "energy") == 0;
    bool same_kind = a->meta.pmu == meta->pmu && a->meta.volts == meta->volts;
    bool same_unit =
        a->meta.unit != NULL && meta->unit != NULL && strcmp(a->meta.unit, meta->unit) == 0;
    if (!custom && !(same_kind && same_unit)) {
        free(a->meta.unit);
        a->meta.unit = NULL;
    }
    if (same_kind)
        return;
    a->meta.volts = 0;
    if (energy || custom)
        a->meta.pmu = energy ? PMU_POWER : PMU_CUSTOM;
}

int aggregate_take_meta(struct aggregate *a, const struct pbin_meta *meta, const char *name,
                        struct error *err)
{
    struct quantity quantity;
    quantity_of(meta, &quantity);
    a->end_variance =
        fmax(a->end_variance, fit_own_end_variance((enum pbin_own)meta->own_intervals));
    if (!a->any) {
        pbin_meta_copy(&a->meta, meta);
        quantity_of(&a->meta, &a->quantity);
        a->meta.wall_ns = a->meta.latency_ns = a->meta.samples = a->meta.idle_samples = 0;
        a->meta.unattributed = 0;
        a->meta.own_intervals = PBIN_OWN_NONE;
        a->any = true;
        a->first = mem_strdup(name);
        return 0;
    }
    if (!quantity_same(&a->quantity, &quantity))
        return error_set(err, name, NO_OFFSET, "contains %s, but previous profiles contain %s",
                         quantity.name == NULL ? "no PMU values" : quantity.name,
                         a->quantity.name == NULL ? "no PMU values" : a->quantity.name);
    if (attribution_unite(&a->meta.attribution, meta->attribution, name, err) != 0)
        return -1;
    forget_what_differs(a, meta);
    join_kinds(a, meta);
    if (!(a->meta.baseline_w == meta->baseline_w))
        a->meta.baseline_w = 0;
    if (a->meta.cpus != meta->cpus)
        a->meta.cpus = 0;
    if (a->meta.frequency != meta->frequency)
        a->meta.frequency = 0;
    a->meta.cpu_time &= meta->cpu_time;
    a->meta.times &= meta->times;
    if (a->meta.divided < meta->divided)
        a->meta.divided = meta->divided;
    return 0;
}

static void put_run(struct aggregate *a, const struct pbin_run *run)
{
    mem_reserve(&a->runs, &a->run_capacity, a->run_count + 1, sizeof *a->runs);
    a->runs[a->run_count++] = *run;
}

void aggregate_take_run(struct aggregate *a, const struct pbin_run *run)
{
    struct pbin_meta *meta = &a->meta;
    bool overflow = __builtin_add_overflow(meta->wall_ns, run->wall_ns, &meta->wall_ns);
    overflow |= __builtin_add_overflow(meta->latency_ns, run->latency_ns, &meta->latency_ns);
    overflow |= __builtin_add_overflow(meta->samples, run->samples, &meta->samples);
    if (a->options.add) { /* the same three sums */
        a->shards.wall_ns = meta->wall_ns;
        a->shards.latency_ns = meta->latency_ns;
        a->shards.samples = meta->samples;
        overflow |= __builtin_add_overflow(a->shards.time, run->time, &a->shards.time);
        overflow |= __builtin_add_overflow(a->shards.energy, run->energy, &a->shards.energy);
    } else {
        put_run(a, run);
    }
    a->rows.overflow |= overflow;
}

int aggregate_too_large(const char *name, struct error *err)
{
    return error_set(err, name, NO_OFFSET, "sums too large to add exactly");
}

void aggregate_take_arc(struct aggregate *a, const struct pbin_arc *arc,
                        const struct strings *texts)
{
    const uint32_t from[4] = {arc->caller_binary, arc->caller, arc->callee_binary, arc->callee};
    uint32_t key[4];
    for (int i = 0; i < 4; i++)
        key[i] = strings_intern(a->rows.texts, strings_get(texts, from[i]));
    uint32_t index = strings_intern_bytes(a->arc_keys, (const char *)key, sizeof key) - 1;
    if (index == a->arc_count) {
        mem_reserve(&a->arcs, &a->arc_capacity, a->arc_count + 1, sizeof *a->arcs);
        a->arcs[a->arc_count++] = (struct pbin_arc){key[0], key[1], key[2], key[3], 0};
    }
    a->rows.overflow |=
        __builtin_add_overflow(a->arcs[index].count, arc->count, &a->arcs[index].count);
}

/* Merges the finished rows of FROM, and the sums of its shards so far. Returns 0, or -1 with ERR filled. */
static int merge_rows(struct aggregate *to, struct aggregate *from, struct error *err)
{
    uint32_t *row = mem_alloc((from->rows.count + 1) * sizeof *row);
    for (size_t r = 0; r < from->rows.count; r++) {
        uint32_t index = row[r] = rowset_adopt(&to->rows, &from->rows, r);
        if (from->rows.rows[r].sums.runs > 0)
            to->rows.overflow |=
                !pbin_sums_merge(&to->rows.rows[index].sums, &from->rows.rows[r].sums);
        to->rows.overflow |= !row_sums_merge(&to->rows.sums[index], &from->rows.sums[r]);
    }
    rowset_adopt_checksums(&to->rows, &from->rows);
    if (to->fit != NULL)
        fit_merge(to->fit, from->fit, row);
    int result =
        measures_merge(&to->measures, to->rows.texts, &from->measures, from->rows.texts, row, err);
    to->rows.overflow |= to->measures.overflow;
    free(row);
    return result;
}

int aggregate_merge(struct aggregate *to, struct aggregate *from, struct error *err)
{
    struct pbin_meta sums = to->meta;
    if (!from->any)
        return 0;
    if (aggregate_take_meta(to, &from->meta, from->first, err) != 0)
        return -1;
    to->meta.wall_ns = sums.wall_ns;
    to->meta.latency_ns = sums.latency_ns;
    to->meta.samples = sums.samples;
    bool overflow =
        __builtin_add_overflow(sums.idle_samples, from->meta.idle_samples, &to->meta.idle_samples);
    if (merge_rows(to, from, err) != 0)
        return -1;
    to->rows.overflow |= overflow;
    to->rows.overflow |=
        __builtin_add_overflow(to->unattributed, from->unattributed, &to->unattributed);
    if (to->options.add)
        aggregate_take_run(to, &from->shards);
    for (size_t i = 0; i < from->run_count; i++) {
        struct pbin_run run = from->runs[i];
        run.name = strings_intern(to->rows.texts, strings_get(from->rows.texts, run.name));
        aggregate_take_run(to, &run);
    }
    for (size_t i = 0; i < from->arc_count; i++)
        aggregate_take_arc(to, &from->arcs[i], from->rows.texts);
    return to->rows.overflow ? aggregate_too_large(NULL, err) : 0;
}

static int compare_runs(const void *left, const void *right, void *opaque)
{
    const struct pbin_run *a = left, *b = right;
    const struct strings *texts = opaque;
    int names = strcmp(strings_get(texts, a->name), strings_get(texts, b->name));
    if (names != 0)
        return names;
    if (a->wall_ns != b->wall_ns)
        return a->wall_ns < b->wall_ns ? -1 : 1;
    if (a->samples != b->samples)
        return a->samples < b->samples ? -1 : 1;
    if (a->latency_ns != b->latency_ns)
        return a->latency_ns < b->latency_ns ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->energy < b->energy ? -1 : a->energy > b->energy;
}

static int compare_arcs(const void *left, const void *right, void *opaque)
{
    const struct pbin_arc *a = left, *b = right;
    const struct strings *texts = opaque;
    const uint32_t mine[4] = {a->caller_binary, a->caller, a->callee_binary, a->callee};
    const uint32_t theirs[4] = {b->caller_binary, b->caller, b->callee_binary, b->callee};
    int order = 0;
    for (int i = 0; i < 4 && order == 0; i++)
        order = strcmp(strings_get(texts, mine[i]), strings_get(texts, theirs[i]));
    return order;
}

/* Returns whether all totals and subtotals fit in an exact. They do if the sums of absolute values
 * fit. */
static bool sums_fit(const struct aggregate *a)
{
    exact energy = 0, run_energy = 0, run_time = 0;
    struct pbin_sums all = {.runs = 1};
    bool fit = !a->rows.overflow && (a->fit == NULL || !a->fit->overflow);
    for (size_t i = 0; i < a->rows.count; i++) {
        struct pbin_sums row = a->rows.rows[i].sums;
        fit = fit && row.energy > -EXACT_MAX &&
              !__builtin_add_overflow(energy, row.energy < 0 ? -row.energy : row.energy, &energy);
        row.energy = 0;
        row.runs = 0;
        fit = fit && pbin_sums_merge(&all, &row);
    }
    for (size_t i = 0; i < a->run_count; i++) {
        exact one = a->runs[i].energy;
        fit = fit && one > -EXACT_MAX &&
              !__builtin_add_overflow(run_energy, one < 0 ? -one : one, &run_energy) &&
              !__builtin_add_overflow(run_time, a->runs[i].time, &run_time);
    }
    return fit;
}

/* Returns 0 if the energies of rows add up to those of runs, or -1 with ERR filled. */
static int check_balance(const struct aggregate *a, struct error *err)
{
    exact rows = 0, runs = 0; /* they fit: see sums_fit */
    for (size_t i = 0; i < a->rows.count; i++)
        rows += a->rows.rows[i].sums.energy;
    for (size_t i = 0; i < a->run_count; i++)
        runs += a->runs[i].energy;
    if (rows == runs)
        return 0;
    return error_set(err, NULL, NO_OFFSET,
                     "the balance does not add up: rows add up to %.9g, their runs to %.9g %s",
                     exact_approximate(rows, ENERGY_SHIFT), exact_approximate(runs, ENERGY_SHIFT),
                     a->quantity.name != NULL ? a->quantity.unit : "J");
}

double aggregate_window(const struct aggregate *a, double *samples)
{
    *samples = a->window_samples;
    return a->window_samples > 0 ? a->window_ns / a->window_samples * 1e-9 : NAN;
}

double aggregate_stay(const struct aggregate *a)
{
    double time = 0, entries = 0;
    exact energy = 0;
    for (size_t i = 0; i < a->rows.count; i++) {
        const struct pbin_sums *sums = &a->rows.rows[i].sums;
        if (sums->time <= 0 || sums->entries == UINT64_MAX)
            continue;
        time += exact_approximate(sums->time, TIME_SHIFT);
        entries += (double)sums->entries;
        energy |= sums->energy;
    }
    double window = a->window_samples > 0 ? a->window_ns / a->window_samples : 0;
    return energy != 0 && entries > 0 && window > 0 ? time / entries / window : NAN;
}

int aggregate_finish(struct aggregate *a, struct error *err)
{
    if (!a->any)
        return error_set(err, NULL, NO_OFFSET, "no profile was read");
    if (a->options.add) {
        rowset_end_run(&a->rows);
        measures_end_run(&a->measures);
        a->rows.overflow |= a->measures.overflow;
        a->shards.name = strings_intern(a->rows.texts, a->meta.name);
        put_run(a, &a->shards);
    }
    if (!sums_fit(a))
        return aggregate_too_large(NULL, err);
    if (check_balance(a, err) != 0)
        return -1;
    if (a->fit != NULL) { /* rows that aggregate_fit fills */
        rowset_find_label(&a->rows, LABEL_IDLE);
        rowset_find_label(&a->rows, LABEL_RESIDUAL);
        key_find_excluded(&a->rows);
    }
    rowset_sort(&a->rows);
    if (a->measures.count > 0) {
        uint32_t *position = aggregate_positions(a);
        measures_sort(&a->measures, a->rows.texts, position);
        free(position);
    }
    if (a->run_count > 0)
        qsort_r(a->runs, a->run_count, sizeof *a->runs, compare_runs, a->rows.texts);
    if (a->arc_count > 0)
        qsort_r(a->arcs, a->arc_count, sizeof *a->arcs, compare_arcs, a->rows.texts);
    return 0;
}

size_t aggregate_row_count(const struct aggregate *a)
{
    return a->rows.count;
}

const struct pbin_row *aggregate_row(const struct aggregate *a, size_t number)
{
    return &a->rows.rows[number];
}

bool aggregate_is_excluded(const struct aggregate *a, const struct pbin_row *row)
{
    for (size_t i = 0; i < a->rows.key_count; i++)
        if (a->rows.is_text[i] ? strcmp(aggregate_text(a, row->key[i]), LABEL_EXCLUDED) != 0
                               : row->key[i] != NUMBER_EXCLUDED)
            return false;
    return true;
}

bool aggregate_has_label(const struct aggregate *a, const struct pbin_row *row, const char *label)
{
    for (size_t i = 0; i < a->rows.key_count; i++) {
        const char *text =
            a->rows.is_text[i] ? aggregate_text(a, row->key[i]) : label_of_number(row->key[i]);
        if (text == NULL || strcmp(text, label) != 0)
            return false;
    }
    return true;
}

bool aggregate_is_label(const struct aggregate *a, const struct pbin_row *row)
{
    for (size_t i = 0; energy_label(i) != NULL; i++)
        if (aggregate_has_label(a, row, energy_label(i)))
            return true;
    return false;
}

const char *aggregate_text(const struct aggregate *a, uint64_t string)
{
    return strings_get(a->rows.texts, (uint32_t)string);
}

const struct aggregate_options *aggregate_options_of(const struct aggregate *a)
{
    return &a->options;
}

const struct pbin_keys *aggregate_keys(const struct aggregate *a)
{
    return &a->options.rows.keys;
}

const struct quantity *aggregate_quantity(const struct aggregate *a)
{
    return &a->quantity;
}

exact aggregate_unattributed(const struct aggregate *a)
{
    return a->unattributed;
}

const struct pbin_meta *aggregate_meta(const struct aggregate *a)
{
    return &a->meta;
}

size_t aggregate_run_count(const struct aggregate *a)
{
    return a->run_count;
}

const struct pbin_run *aggregate_run(const struct aggregate *a, size_t number)
{
    return &a->runs[number];
}

const struct measures *aggregate_measures(const struct aggregate *a)
{
    return &a->measures;
}

int aggregate_measure(const struct aggregate *a, const char *name)
{
    return measures_find(&a->measures, a->rows.texts, name);
}

size_t aggregate_arc_count(const struct aggregate *a)
{
    return a->arc_count;
}

const struct pbin_arc *aggregate_arc(const struct aggregate *a, size_t number)
{
    return &a->arcs[number];
}

double aggregate_deciding_samples(const struct aggregate *a, bool only_shown)
{
    exact shown = 0, excluded = 0;
    for (size_t i = 0; i < aggregate_row_count(a); i++) {
        const struct pbin_row *row = aggregate_row(a, i);
        *(aggregate_is_excluded(a, row) ? &excluded : &shown) += row->sums.samples;
    }
    double all = exact_to_double(shown + excluded, SAMPLES_SHIFT, 1);
    double n = only_shown ? exact_to_double(shown, SAMPLES_SHIFT, 1) : all;
    bool every = all <= 0 || attribution_is_wall(a->meta.attribution);
    return n - (every ? 0 : n / all * (double)aggregate_meta(a)->idle_samples);
}

double aggregate_end_variance(const struct aggregate *a)
{
    return a->end_variance;
}

bool aggregate_is_cut(const struct aggregate *a)
{
    const struct selection *s = a->options.rows.selection;
    return s != NULL && (s->has_window || s->phase != NULL);
}
