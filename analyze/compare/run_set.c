/* One side of a comparison.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/run_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/inputs.h"
#include "analyze/compare/run_set_blocks.h"
#include "base/memory.h"

static const char *const metrics[COMPARE_METRICS] = {
    "time", "energy", "power", "samples", "execution-time", "share", "samples-share"};

const char *compare_metric_name(enum compare_metric metric)
{
    return metrics[metric];
}

int compare_metric_parse(const char *name, size_t length)
{
    for (int i = 0; i < COMPARE_METRICS; i++)
        if (strlen(metrics[i]) == length && memcmp(metrics[i], name, length) == 0)
            return i;
    return -1;
}

void side_init(struct side *side, const struct side_rules *rules, struct strings *texts,
               struct strings *tuples)
{
    *side = (struct side){.rules = rules, .texts = texts, .tuples = tuples};
}

void side_free(struct side *side)
{
    free(side->index);
    free(side->rows);
}

static double seconds(exact time, size_t runs)
{
    return exact_to_double(time, TIME_SHIFT, runs * UINT64_C(1000000000));
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* METRIC as a mean over RUNS, from sums. */
static double metric_value(exact time, exact energy, double samples, double entries, size_t runs,
                           const struct side_row *total, enum compare_metric metric)
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
    default:
        return 100 * ratio(samples, total->samples);
    }
}

static bool missing_is_zero(int metric)
{
    return metric != COMPARE_POWER && metric != COMPARE_EXECUTION;
}

static void pad_with_zeros(struct side_row *row, size_t runs)
{
    for (int m = 0; m < COMPARE_METRICS; m++) {
        struct run_moments zeros = {runs - row->moments[m].n, 0, 0};
        if (missing_is_zero(m) && row->moments[m].n < runs)
            run_moments_add(&row->moments[m], &zeros);
    }
}

/* The moments that this profile's runs have, added to ROW's. Of several runs in one profile only time and energy have
 * known squares. */
static void add_moments(struct side_row *row, const struct side_block *block, size_t runs,
                        const struct side_row *total)
{
    for (int m = 0; m < COMPARE_METRICS; m++) {
        struct run_moments moments = {runs, 0, 0};
        moments.mean = metric_value(block->time, block->energy, block->samples,
                                    side_block_entries(block), runs, total, (enum compare_metric)m);
        if (runs > 1)
            moments.squares = m == COMPARE_TIME     ? block->time_spread * block->time_spread
                              : m == COMPARE_ENERGY ? block->energy_spread * block->energy_spread
                                                    : NAN;
        if (!isnan(moments.mean))
            run_moments_add(&row->moments[m], &moments);
    }
}

static void row_add(struct side_row *row, const struct side_block *block)
{
    row->time += block->time;
    row->energy += block->energy;
    row->samples += block->samples;
    row->entries += side_block_entries(block);
}

static struct side_row *find_row(struct side *side, const uint64_t *key)
{
    uint32_t tuple = strings_intern_bytes(side->tuples, (const char *)key,
                                          side->rules->aggregate.rows.keys.count * sizeof *key);
    if (tuple >= side->index_count) {
        mem_reserve(&side->index, &side->index_capacity, (size_t)tuple + 1, sizeof *side->index);
        memset(side->index + side->index_count, 0,
               (side->index_capacity - side->index_count) * sizeof *side->index);
        side->index_count = side->index_capacity;
    }
    if (side->index[tuple] == 0) {
        mem_reserve(&side->rows, &side->capacity, side->count + 1, sizeof *side->rows);
        struct side_row *row = &side->rows[side->count++];
        *row = (struct side_row){.tuple = tuple};
        memcpy(row->key, key, sizeof row->key);
        side->index[tuple] = side->count;
    }
    return &side->rows[side->index[tuple] - 1];
}

/* The totals of the runs of A one by one, as far as each is known. */
static void add_total(struct side *side, const struct aggregate *a,
                      const struct side_blocks *blocks)
{
    const struct side_row whole = {.time = blocks->total.time, .samples = blocks->total.samples};
    add_moments(&side->total, &blocks->total, blocks->runs, &whole);
    if (blocks->runs < 2)
        return;
    struct run_moments time = {0}, energy = {0}, power = {0};
    for (size_t i = 0; i < blocks->runs; i++) {
        const struct pbin_run *run = aggregate_run(a, i);
        struct run_moments t = {1, seconds(run->time, 1), 0};
        struct run_moments e = {1, exact_to_double(run->energy, ENERGY_SHIFT, 1), 0};
        struct run_moments p = {run->time > 0, ratio(e.mean, t.mean), 0};
        run_moments_add(&time, &t);
        run_moments_add(&energy, &e);
        run_moments_add(&power, &p);
    }
    side->total.moments[COMPARE_TIME].squares += time.squares;
    side->total.moments[COMPARE_ENERGY].squares += energy.squares;
    if (isnan(side->total.moments[COMPARE_POWER].squares) && side->runs == 0)
        side->total.moments[COMPARE_POWER] = power;
}

static void take_quantity(struct side *side, const struct quantity *q)
{
    if (side->quantity_known) {
        side->quantity_mixed |= !quantity_same(&side->quantity, q);
        return;
    }
    side->quantity_known = true;
    side->quantity = *q;
    memcpy(side->unit, q->unit_text, sizeof side->unit);
    memcpy(side->rate, q->rate_text, sizeof side->rate);
    if (q->unit == q->unit_text)
        side->quantity.unit = side->unit;
    if (q->rate_unit == q->rate_text)
        side->quantity.rate_unit = side->rate;
}

void side_add(struct side *side, const struct aggregate *a)
{
    struct side_blocks blocks;
    side_blocks_read(&blocks, side->rules, side->texts, a);
    const struct side_row whole = {.time = blocks.total.time, .samples = blocks.total.samples};
    for (size_t i = 0; i < blocks.count; i++) {
        struct side_row *row = find_row(side, blocks.at[i].key);
        row_add(row, &blocks.at[i]);
        add_moments(row, &blocks.at[i], blocks.runs, &whole);
    }
    if (aggregate_run_count(a) > 0)
        add_total(side, a, &blocks);
    row_add(&side->total, &blocks.total);
    side->runs += blocks.runs;
    side->moments_sampled += (double)aggregate_meta(a)->samples;
    take_quantity(side, aggregate_quantity(a));
    side_blocks_free(&blocks);
}

int side_read(struct side *side, const char *path, struct reporter *reporter, struct error *err)
{
    struct aggregate *a = aggregate_new(&side->rules->aggregate);
    int result = inputs_read_one(path, side->rules->salvage, 1, a, reporter, err);
    if (result == 0)
        result = aggregate_finish(a, err);
    if (result == 0)
        side_add(side, a);
    aggregate_delete(a);
    return result;
}

void side_finish(struct side *side)
{
    for (size_t i = 0; i < side->count; i++)
        pad_with_zeros(&side->rows[i], side->runs);
}

const struct side_row *side_find(const struct side *side, uint32_t tuple)
{
    if (tuple >= side->index_count || side->index[tuple] == 0)
        return NULL;
    return &side->rows[side->index[tuple] - 1];
}

double side_value(const struct side *side, const struct side_row *row, enum compare_metric metric)
{
    if (row == NULL)
        return missing_is_zero(metric) ? 0 : NAN;
    return metric_value(row->time, row->energy, row->samples, row->entries, side->runs,
                        &side->total, metric);
}
