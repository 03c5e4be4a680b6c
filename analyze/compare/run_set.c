/* One run set of a comparison.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/run_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/inputs.h"
#include "analyze/attribute/words.h"
#include "analyze/compare/run_set_blocks.h"
#include "base/memory.h"
#include "base/name_list.h"

static const char *const metrics[COMPARE_METRICS] = {
    "time",  "energy",        "power", "samples",   "execution-time",
    "share", "samples-share", "calls", "inclusive", "call-time"};

const char *compare_metric_name(enum compare_metric metric)
{
    return metrics[metric];
}

int compare_metric_parse(const char *name, size_t length)
{
    return name_find_part(metrics, COMPARE_METRICS, name, length);
}

void run_set_init(struct run_set *set, const struct run_set_rules *rules, struct strings *texts,
                  struct strings *tuples)
{
    *set = (struct run_set){.rules = rules, .texts = texts, .tuples = tuples};
    set->total.calls = RUN_SET_NO_CALLS;
}

void run_set_free(struct run_set *set)
{
    free(set->index);
    free(set->rows);
    free(set->attribution);
    free(set->attributed);
}

static double seconds(exact time, size_t runs)
{
    return exact_to_double(time, TIME_SHIFT, runs * UINT64_C(1000000000));
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static double calls_value(const struct run_set_calls *calls, size_t runs,
                          enum compare_metric metric)
{
    double n = (double)runs;
    return metric == COMPARE_CALLS       ? calls->calls / n
           : metric == COMPARE_INCLUSIVE ? calls->inclusive / n
                                         : ratio(calls->total, calls->returned);
}

/* METRIC as a mean over RUNS runs, computed from sums. */
static double metric_value(exact time, exact energy, double samples, double entries,
                           const struct run_set_calls *calls, size_t runs,
                           const struct run_set_row *total, enum compare_metric metric)
{
    double s = seconds(time, runs);
    switch (metric) {
    case COMPARE_TIME:
        return s;
    case COMPARE_ENERGY:
        return exact_to_double(energy, ENERGY_SHIFT, runs);
    case COMPARE_POWER:
        return ratio(exact_to_double(energy, ENERGY_SHIFT, runs), s);
    case COMPARE_SAMPLES:
        return samples / (double)runs;
    case COMPARE_EXECUTION:
        return ratio(seconds(time, 1), entries);
    case COMPARE_SHARE:
        return 100 * ratio(s, seconds(total->time, runs));
    case COMPARE_SAMPLES_SHARE:
        return 100 * ratio(samples, total->samples);
    default:
        return calls_value(calls, runs, metric);
    }
}

static bool missing_is_zero(int metric)
{
    return metric != COMPARE_POWER && metric != COMPARE_EXECUTION && metric != COMPARE_CALL_TIME;
}

static void pad_with_zeros(struct run_set_row *row, size_t runs)
{
    for (int m = 0; m < COMPARE_METRICS; m++) {
        struct run_moments zeros = {runs - row->moments[m].n, 0, 0};
        if (missing_is_zero(m) && row->moments[m].n < runs)
            run_moments_add(&row->moments[m], &zeros);
    }
}

/* The squares of METRIC over several runs of a profile, if they are known. */
static double squares_of(const struct run_set_block *block, enum compare_metric metric)
{
    double spread = metric == COMPARE_TIME        ? block->time_spread
                    : metric == COMPARE_ENERGY    ? block->energy_spread
                    : metric == COMPARE_CALLS     ? block->calls_spread
                    : metric == COMPARE_INCLUSIVE ? block->inclusive_spread
                                                  : NAN;
    return spread * spread;
}

/* Adds the moments of the runs of a profile to those of ROW. */
static void add_moments(struct run_set_row *row, const struct run_set_block *block, size_t runs,
                        const struct run_set_row *total)
{
    for (int m = 0; m < COMPARE_METRICS; m++) {
        struct run_moments moments = {runs, 0, 0};
        moments.mean =
            metric_value(block->time, block->energy, block->samples, run_set_block_entries(block),
                         &block->calls, runs, total, (enum compare_metric)m);
        if (runs > 1)
            moments.squares = squares_of(block, (enum compare_metric)m);
        if (!isnan(moments.mean))
            run_moments_add(&row->moments[m], &moments);
    }
}

static void row_add(struct run_set_row *row, const struct run_set_block *block)
{
    row->time += block->time;
    row->energy += block->energy;
    row->samples += block->samples;
    row->entries += run_set_block_entries(block);
    run_set_calls_add(&row->calls, &block->calls);
}

static struct run_set_row *find_row(struct run_set *set, const uint64_t *key)
{
    uint32_t tuple = strings_intern_bytes(set->tuples, (const char *)key,
                                          set->rules->aggregate.rows.keys.count * sizeof *key);
    if (tuple >= set->index_count) {
        mem_reserve(&set->index, &set->index_capacity, (size_t)tuple + 1, sizeof *set->index);
        memset(set->index + set->index_count, 0,
               (set->index_capacity - set->index_count) * sizeof *set->index);
        set->index_count = set->index_capacity;
    }
    if (set->index[tuple] == 0) {
        mem_reserve(&set->rows, &set->capacity, set->count + 1, sizeof *set->rows);
        struct run_set_row *row = &set->rows[set->count++];
        *row = (struct run_set_row){.tuple = tuple, .calls = RUN_SET_NO_CALLS};
        memcpy(row->key, key, sizeof row->key);
        set->index[tuple] = set->count;
    }
    return &set->rows[set->index[tuple] - 1];
}

/* The sums of run NUMBER of A in BLOCKS. If filters have selected only part of several runs, only
 * their mean is known. */
static struct pbin_run run_of(const struct aggregate *a, const struct run_set_blocks *blocks,
                              size_t number)
{
    struct pbin_run run = *aggregate_run(a, number);
    if (blocks->excludes) {
        run.time = blocks->total.time / (exact)blocks->runs;
        run.energy = blocks->total.energy / (exact)blocks->runs;
    }
    return run;
}

/* Adds the totals of the runs of A, from the values of each run if they are known. */
static void add_total(struct run_set *set, const struct aggregate *a,
                      const struct run_set_blocks *blocks)
{
    const struct run_set_row whole = {.time = blocks->total.time, .samples = blocks->total.samples};
    struct run_moments time = {0}, energy = {0}, power = set->total.moments[COMPARE_POWER];
    add_moments(&set->total, &blocks->total, blocks->runs, &whole);
    for (size_t i = 0; i < blocks->runs; i++) {
        const struct pbin_run run = run_of(a, blocks, i);
        double unknown = blocks->excludes && blocks->runs > 1 ? NAN : 0;
        struct run_moments t = {1, seconds(run.time, 1), unknown};
        struct run_moments e = {1, exact_to_double(run.energy, ENERGY_SHIFT, 1), unknown};
        double span = run.wall_ns > 0 ? (double)run.wall_ns / 1e9 : t.mean;
        struct run_moments p = {span > 0, ratio(e.mean, span), unknown};
        run_moments_add(&time, &t);
        run_moments_add(&energy, &e);
        if (p.n > 0)
            run_moments_add(&power, &p);
        set->wall_ns += run.wall_ns;
        set->no_wall |= run.wall_ns == 0;
    }
    set->total.moments[COMPARE_POWER] = power;
    if (blocks->runs < 2)
        return;
    set->total.moments[COMPARE_TIME].squares += time.squares;
    set->total.moments[COMPARE_ENERGY].squares += energy.squares;
}

static void take_quantity(struct run_set *set, const struct quantity *q)
{
    if (set->quantity_known) {
        set->quantity_mixed |= !quantity_same(&set->quantity, q);
        return;
    }
    set->quantity_known = true;
    set->quantity = *q;
    memcpy(set->unit, q->unit_text, sizeof set->unit);
    memcpy(set->rate, q->rate_text, sizeof set->rate);
    if (q->unit == q->unit_text)
        set->quantity.unit = set->unit;
    if (q->rate_unit == q->rate_text)
        set->quantity.rate_unit = set->rate;
}

static int take_attribution(struct run_set *set, const struct aggregate *a, const char *path,
                            struct error *err)
{
    const char *words = aggregate_meta(a)->attribution;
    char how[ATTRIBUTION_DIFFERENCE];
    if (attribution_differs(words, set->attribution, how))
        return error_set(err, path, NO_OFFSET, "was attributed %s, unlike %s", how,
                         set->attributed);
    if (set->attribution == NULL && words != NULL) {
        set->attribution = mem_strdup(words);
        set->attributed = mem_strdup(path);
    }
    return 0;
}

int run_set_add(struct run_set *set, const struct aggregate *a, const char *path, struct error *err)
{
    struct run_set_blocks blocks;
    if (take_attribution(set, a, path, err) != 0)
        return -1;
    run_set_blocks_read(&blocks, set->rules, set->texts, a);
    const struct run_set_row whole = {.time = blocks.total.time, .samples = blocks.total.samples};
    for (size_t i = 0; i < blocks.count; i++) {
        struct run_set_row *row = find_row(set, blocks.at[i].key);
        row_add(row, &blocks.at[i]);
        add_moments(row, &blocks.at[i], blocks.runs, &whole);
    }
    if (aggregate_run_count(a) > 0)
        add_total(set, a, &blocks);
    row_add(&set->total, &blocks.total);
    set->runs += blocks.runs;
    set->moments_sampled += (double)aggregate_meta(a)->samples;
    take_quantity(set, aggregate_quantity(a));
    run_set_blocks_free(&blocks);
    return 0;
}

int run_set_read(struct run_set *set, const char *path, struct reporter *reporter,
                 struct error *err)
{
    struct aggregate *a = aggregate_new(&set->rules->aggregate);
    int result = inputs_read_one(path, set->rules->choice, 1, a, reporter, err);
    if (result == 0)
        result = aggregate_finish(a, err);
    if (result == 0)
        result = run_set_add(set, a, path, err);
    aggregate_delete(a);
    return result;
}

void run_set_finish(struct run_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        pad_with_zeros(&set->rows[i], set->runs);
}

const struct run_set_row *run_set_find(const struct run_set *set, uint32_t tuple)
{
    if (tuple >= set->index_count || set->index[tuple] == 0)
        return NULL;
    return &set->rows[set->index[tuple] - 1];
}

double run_set_value(const struct run_set *set, const struct run_set_row *row,
                     enum compare_metric metric)
{
    if (row == NULL)
        return missing_is_zero(metric) ? 0 : NAN;
    if (metric == COMPARE_POWER && row == &set->total && !set->no_wall)
        return ratio(exact_to_double(row->energy, ENERGY_SHIFT, 1), (double)set->wall_ns / 1e9);
    return metric_value(row->time, row->energy, row->samples, row->entries, &row->calls, set->runs,
                        &set->total, metric);
}
