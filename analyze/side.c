/* One side of a comparison.
 * SPDX-License-Identifier: MIT */
#include "analyze/side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/inputs.h"
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

/* A row's sums in the profile that is being added. Rows that become one are added up; for the standard deviation of
 * a sum over several runs only an upper bound is known, the sum of theirs. */
struct block {
    uint64_t key[PBIN_KEYS_MOST];
    exact time, energy;
    double samples, entries, entries_most;
    double time_spread, energy_spread; /* sqrt(sum of squared distances from the mean) */
    bool entries_unknown;
};

struct blocks {
    struct strings *tuples; /* of this profile: number - 1 is the index of the block */
    struct block *at;
    size_t count, capacity;
    size_t runs;
    struct block total;
};

static uint64_t matched_text(struct side *side, int key, const char *text)
{
    const char *name = pbin_key_get((size_t)key)->name, *slash = strrchr(text, '/');
    if (strcmp(name, "function") == 0 || strcmp(name, "inline") == 0)
        return strings_intern_bytes(side->texts, text, match_function_length(text));
    if (strcmp(name, "binary") == 0)
        text = match_binary(text, side->rules->maps, side->rules->map_count);
    if (side->rules->lines && strcmp(name, "file") == 0 && slash != NULL)
        text = slash + 1;
    return strings_intern(side->texts, text);
}

static struct block *find_block(struct side *side, struct blocks *blocks, const struct aggregate *a,
                                const struct pbin_row *row)
{
    const struct aggregate_options *options = &side->rules->aggregate;
    uint64_t key[PBIN_KEYS_MOST] = {0};
    for (size_t i = 0; i < options->key_count; i++)
        key[i] = pbin_key_get((size_t)options->keys[i])->is_text
                     ? matched_text(side, options->keys[i], aggregate_text(a, row->key[i]))
                     : row->key[i];
    uint32_t tuple =
        strings_intern_bytes(blocks->tuples, (const char *)key, options->key_count * sizeof *key);
    if (tuple > blocks->count) {
        mem_reserve(&blocks->at, &blocks->capacity, tuple, sizeof *blocks->at);
        memset(&blocks->at[blocks->count], 0, sizeof *blocks->at);
        memcpy(blocks->at[blocks->count++].key, key, sizeof key);
    }
    return &blocks->at[tuple - 1];
}

static double spread(exact sum, const struct wide *squares, size_t runs, int shift)
{
    double variance = exact_variance(sum, squares, runs, shift);
    return sqrt(variance > 0 ? variance * (double)(runs - 1) : 0);
}

static void block_add(struct block *block, const struct pbin_sums *sums, size_t runs)
{
    double entries = sums->entries == UINT64_MAX ? 0 : (double)sums->entries;
    block->time += sums->time;
    block->energy += sums->energy;
    block->samples += exact_to_double(sums->samples, SAMPLES_SHIFT, 1);
    block->entries += entries;
    block->entries_most = entries > block->entries_most ? entries : block->entries_most;
    block->entries_unknown |= sums->entries == UINT64_MAX;
    if (runs < 2)
        return;
    block->time_spread += spread(sums->time, &sums->time_sq, runs, TIME_SHIFT) / 1e9;
    block->energy_spread += spread(sums->energy, &sums->energy_sq, runs, ENERGY_SHIFT);
}

/* Rows that became one: threads that went from one part to another did not enter the whole. At least as many as
 * this did: not every entry of the largest part can have come from the others. */
static double entries_of(const struct block *block)
{
    double surely = 2 * block->entries_most - block->entries;
    if (block->entries_unknown)
        return NAN;
    return surely >= 1 ? surely : block->entries > 0 ? 1 : 0;
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
static void add_moments(struct side_row *row, const struct block *block, size_t runs,
                        const struct side_row *total)
{
    for (int m = 0; m < COMPARE_METRICS; m++) {
        struct run_moments moments = {runs, 0, 0};
        moments.mean = metric_value(block->time, block->energy, block->samples, entries_of(block),
                                    runs, total, (enum compare_metric)m);
        if (runs > 1)
            moments.squares = m == COMPARE_TIME     ? block->time_spread * block->time_spread
                              : m == COMPARE_ENERGY ? block->energy_spread * block->energy_spread
                                                    : NAN;
        if (!isnan(moments.mean))
            run_moments_add(&row->moments[m], &moments);
    }
}

static void row_add(struct side_row *row, const struct block *block)
{
    row->time += block->time;
    row->energy += block->energy;
    row->samples += block->samples;
    row->entries += entries_of(block);
}

static struct side_row *find_row(struct side *side, const uint64_t *key)
{
    uint32_t tuple = strings_intern_bytes(side->tuples, (const char *)key,
                                          side->rules->aggregate.key_count * sizeof *key);
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
static void add_total(struct side *side, const struct aggregate *a, const struct blocks *blocks)
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

static void collect(struct side *side, struct blocks *blocks, const struct aggregate *a)
{
    for (size_t i = 0; i < aggregate_row_count(a); i++) {
        const struct pbin_row *row = aggregate_row(a, i);
        if (row->sums.runs == 0)
            continue;
        block_add(find_block(side, blocks, a, row), &row->sums, blocks->runs);
    }
    for (size_t i = 0; i < blocks->count; i++) {
        const struct block *block = &blocks->at[i];
        blocks->total.time += block->time;
        blocks->total.energy += block->energy;
        blocks->total.samples += block->samples;
        blocks->total.entries += block->entries;
        blocks->total.entries_unknown |= block->entries_unknown;
    }
    blocks->total.entries_most = blocks->total.entries;
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

static void side_add(struct side *side, const struct aggregate *a)
{
    struct blocks blocks = {.tuples = strings_new(), .runs = aggregate_run_count(a)};
    if (blocks.runs == 0)
        blocks.runs = 1; /* rows without runs: nothing writes that */
    collect(side, &blocks, a);
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
    strings_delete(blocks.tuples);
    free(blocks.at);
}

int side_read(struct side *side, const char *path, struct reporter *reporter, struct error *err)
{
    struct aggregate *a = aggregate_new(&side->rules->aggregate);
    int result = inputs_read_one(path, side->rules->salvage, a, reporter, err);
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
