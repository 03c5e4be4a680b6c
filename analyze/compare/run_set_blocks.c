/* The rows of a profile, with the keys that all run sets of a comparison share.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/run_set_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/clones.h"
#include "base/memory.h"

static uint64_t matched_text(const struct run_set_blocks *blocks, int key, const char *text)
{
    const char *name = pbin_key_get((size_t)key)->name, *slash = strrchr(text, '/');
    if (strcmp(name, "function") == 0 || strcmp(name, "inline") == 0)
        return strings_intern_bytes(blocks->texts, text, clone_stem_length(text));
    if (strcmp(name, "binary") == 0)
        text = match_binary(text, blocks->rules->maps, blocks->rules->map_count);
    if (blocks->rules->lines && strcmp(name, "file") == 0 && slash != NULL)
        text = slash + 1;
    return strings_intern(blocks->texts, text);
}

static struct run_set_block *find_block(struct run_set_blocks *blocks, const struct aggregate *a,
                                        const struct pbin_row *row)
{
    const struct pbin_keys *keys = &blocks->rules->aggregate.rows.keys;
    uint64_t key[PBIN_MAX_KEYS] = {0};
    for (size_t i = 0; i < keys->count; i++)
        key[i] = pbin_key_get((size_t)keys->key[i])->is_text
                     ? matched_text(blocks, keys->key[i], aggregate_text(a, row->key[i]))
                     : row->key[i];
    uint32_t tuple =
        strings_intern_bytes(blocks->tuples, (const char *)key, keys->count * sizeof *key);
    if (tuple > blocks->count) {
        mem_reserve(&blocks->at, &blocks->capacity, tuple, sizeof *blocks->at);
        memset(&blocks->at[blocks->count], 0, sizeof *blocks->at);
        blocks->at[blocks->count].calls = RUN_SET_NO_CALLS;
        memcpy(blocks->at[blocks->count++].key, key, sizeof key);
    }
    return &blocks->at[tuple - 1];
}

static double spread(exact sum, const struct wide *squares, size_t runs, int shift)
{
    double variance = exact_variance(sum, squares, runs, shift);
    return sqrt(variance > 0 ? variance * (double)(runs - 1) : 0);
}

static void block_add(struct run_set_block *block, const struct pbin_sums *sums, size_t runs)
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

static void add(double *to, double from)
{
    *to = isnan(*to) ? from : isnan(from) ? *to : *to + from;
}

void run_set_calls_add(struct run_set_calls *to, const struct run_set_calls *from)
{
    add(&to->calls, from->calls);
    add(&to->inclusive, from->inclusive);
    add(&to->returned, from->returned);
    add(&to->total, from->total);
}

/* The sum of measure NAME in row NUMBER of A, in units of SCALE; NaN if the profile or the row does
 * not have it. Adds the root of the sum of squared distances from the mean of RUNS runs to
 * *SPREAD_OF (NULL: does not). */
static double measured(const struct aggregate *a, const char *name, size_t number, double scale,
                       size_t runs, double *spread_of)
{
    int measure = aggregate_measure(a, name);
    if (measure < 0)
        return NAN;
    const struct measure_cell *cell = measures_get(aggregate_measures(a), (size_t)measure, number);
    int shift = aggregate_measures(a)->kind[measure].type == PBIN_REAL ? MEASURE_SHIFT : 0;
    if (cell == NULL || cell->total.runs == 0)
        return NAN;
    if (runs > 1 && spread_of != NULL)
        *spread_of += spread(cell->total.value, &cell->total.square, runs, shift) / scale;
    return exact_to_double(cell->total.value, shift, 1) / scale;
}

static void block_add_calls(struct run_set_block *block, const struct aggregate *a, size_t number,
                            size_t runs)
{
    struct run_set_calls calls = {
        .calls = measured(a, "calls", number, 1, runs, &block->calls_spread),
        .inclusive = measured(a, "inclusive", number, 1e9, runs, &block->inclusive_spread),
        .returned = measured(a, "returned", number, 1, runs, NULL),
        .total = measured(a, "total", number, 1e9, runs, NULL)};
    run_set_calls_add(&block->calls, &calls);
}

double run_set_block_entries(const struct run_set_block *block)
{
    double surely = 2 * block->entries_most - block->entries;
    if (!isnan(block->calls.calls))
        return block->calls.calls;
    if (block->entries_unknown)
        return NAN;
    return surely >= 1 ? surely : block->entries > 0 ? 1 : 0;
}

/* The total has no inclusive time, because functions contain one another. */
static void add_up(struct run_set_blocks *blocks)
{
    blocks->total.calls = RUN_SET_NO_CALLS;
    for (size_t i = 0; i < blocks->count; i++) {
        const struct run_set_block *block = &blocks->at[i];
        blocks->total.time += block->time;
        blocks->total.energy += block->energy;
        blocks->total.samples += block->samples;
        blocks->total.entries += block->entries;
        blocks->total.entries_unknown |= block->entries_unknown;
        run_set_calls_add(&blocks->total.calls, &block->calls);
        blocks->total.calls_spread += block->calls_spread;
    }
    blocks->total.calls.inclusive = NAN;
    blocks->total.entries_most = blocks->total.entries;
}

void run_set_blocks_read(struct run_set_blocks *blocks, const struct run_set_rules *rules,
                         struct strings *texts, const struct aggregate *a)
{
    *blocks = (struct run_set_blocks){
        .rules = rules, .texts = texts, .tuples = strings_new(), .runs = aggregate_run_count(a)};
    if (blocks->runs == 0)
        blocks->runs = 1; /* there are rows without runs, which no tool writes */
    for (size_t i = 0; i < aggregate_row_count(a); i++) {
        const struct pbin_row *row = aggregate_row(a, i);
        if (row->sums.runs == 0)
            continue;
        if (aggregate_is_excluded(a, row)) {
            blocks->excludes = true;
            continue;
        }
        struct run_set_block *block = find_block(blocks, a, row);
        block_add(block, &row->sums, blocks->runs);
        block_add_calls(block, a, i, blocks->runs);
    }
    add_up(blocks);
}

void run_set_blocks_free(struct run_set_blocks *blocks)
{
    strings_delete(blocks->tuples);
    free(blocks->at);
}
