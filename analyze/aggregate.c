/* Aggregation of profiles, full ones and ones that are sums already.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute.h"
#include "analyze/rowset.h"
#include "base/memory.h"

struct aggregate {
    struct aggregate_options options;
    struct quantity quantity;
    struct pbin_meta meta;
    bool any; /* a profile was read */
    struct rowset rows;
    struct pbin_run *runs;
    size_t run_count, run_capacity;
    struct pbin_run shards; /* --mode add: what will be the one run */
    struct pbin_arc *arcs;
    size_t arc_count, arc_capacity;
    struct strings *arc_keys;
};

struct aggregate *aggregate_new(const struct aggregate_options *options)
{
    struct aggregate *a = mem_zalloc(1, sizeof *a);
    a->options = *options;
    a->arc_keys = strings_new();
    rowset_init(&a->rows, a->options.keys, a->options.key_count);
    return a;
}

void aggregate_delete(struct aggregate *a)
{
    if (a == NULL)
        return;
    pbin_meta_free(&a->meta);
    rowset_free(&a->rows);
    strings_delete(a->arc_keys);
    free(a->runs);
    free(a->arcs);
    free(a);
}

/* Keeps what the profiles have in common. */
static int merge_meta(struct aggregate *a, const struct pbin_meta *meta, const char *name,
                      struct error *err)
{
    struct quantity quantity;
    quantity_of(meta, &quantity);
    if (!a->any) {
        pbin_meta_copy(&a->meta, meta);
        quantity_of(&a->meta, &a->quantity);
        a->meta.wall_ns = a->meta.latency_ns = a->meta.samples = 0;
        a->any = true;
        return 0;
    }
    if (!quantity_same(&a->quantity, &quantity))
        return error_set(err, name, NO_OFFSET, "holds %s, the profiles before it %s",
                         quantity.name == NULL ? "no PMU values" : quantity.name,
                         a->quantity.name == NULL ? "no PMU values" : a->quantity.name);
    for (size_t i = 0; i < pbin_field_count; i++) {
        const struct pbin_field *field = &pbin_fields[i];
        char **mine = (char **)((char *)&a->meta + field->at);
        char *const *theirs = (char *const *)((const char *)meta + field->at);
        if (field->type != 's' || *mine == NULL ||
            (*theirs != NULL && strcmp(*mine, *theirs) == 0) || field->at == offsetof(struct pbin_meta, unit))
            continue;
        free(*mine);
        *mine = NULL;
    }
    if (a->meta.cpus != meta->cpus)
        a->meta.cpus = 0;
    if (a->meta.frequency != meta->frequency)
        a->meta.frequency = 0;
    a->meta.cpu_time &= meta->cpu_time;
    a->meta.times &= meta->times;
    return 0;
}

/* Where each key of the aggregate stands among the keys of an aggregated input. */
struct key_columns {
    size_t at[PBIN_KEYS_MOST];
    bool coarser; /* rows will be joined: entries cannot be known */
};

static int match_keys(const struct aggregate *a, const char *keys, const char *name,
                      struct key_columns *columns, struct error *err)
{
    size_t input_keys = 0;
    int number[PBIN_KEYS_MOST];
    for (const char *at = keys; at != NULL && input_keys < PBIN_KEYS_MOST; input_keys++) {
        size_t length = strcspn(at, ",");
        number[input_keys] = pbin_key_find(at, length);
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    for (size_t i = 0; i < a->options.key_count; i++) {
        size_t k = 0;
        while (k < input_keys && number[k] != a->options.keys[i])
            k++;
        if (k == input_keys)
            return error_set(err, name, NO_OFFSET,
                             "was aggregated by %s: key %s is not in it any more", keys,
                             pbin_key_get((size_t)a->options.keys[i])->name);
        columns->at[i] = k;
    }
    columns->coarser = a->options.key_count < input_keys;
    return 0;
}

/* While one profile is read. */
struct input {
    struct aggregate *aggregate;
    struct pbin_reader *reader;
    const char *name;
    struct reporter *reporter;
    struct attribution attribution;
    struct key_columns columns;
};

/* Rows that are joined to fewer keys, or added up as shards, go through the current run: their squares are
 * not those of the sum. That works for a single run only; of several, each row's runs would have to be known. */
static int take_row(struct input *in, const struct pbin_row *row, struct error *err)
{
    struct aggregate *a = in->aggregate;
    const struct pbin_definitions *all = pbin_reader_definitions(in->reader);
    uint64_t key[PBIN_KEYS_MOST] = {0};
    for (size_t i = 0; i < a->options.key_count; i++) {
        uint64_t value = row->key[in->columns.at[i]];
        if (a->rows.is_text[i] && value >= strings_count(all->strings))
            return error_set(err, in->name, NO_OFFSET, "row refers to a text that is not defined");
        key[i] = a->rows.is_text[i]
                     ? strings_intern(a->rows.texts, strings_get(all->strings, (uint32_t)value))
                     : value;
    }
    uint32_t index = rowset_find(&a->rows, key);
    if (row->sums.runs > 1 && (in->columns.coarser || a->options.add))
        return error_set(err, in->name, NO_OFFSET,
                         "holds sums over several runs: they cannot be %s any more",
                         a->options.add ? "added as shards of one run" : "joined to fewer keys");
    if (!in->columns.coarser && !a->options.add) {
        pbin_sums_merge(&a->rows.rows[index].sums, &row->sums);
        return 0;
    }
    struct current *current = &a->rows.current[index];
    current->touched = true;
    current->samples += row->sums.samples;
    current->time += row->sums.time;
    current->energy += row->sums.energy;
    current->entries_unknown |= in->columns.coarser || row->sums.entries == UINT64_MAX;
    current->entries += row->sums.entries;
    return 0;
}

static void put_run(struct aggregate *a, const struct pbin_run *run)
{
    mem_reserve(&a->runs, &a->run_capacity, a->run_count + 1, sizeof *a->runs);
    a->runs[a->run_count++] = *run;
}

/* A run is done: on its own, or as a shard. RUN's name is a number of the aggregate's texts. */
static void take_run(struct aggregate *a, const struct pbin_run *run)
{
    a->meta.wall_ns += run->wall_ns;
    a->meta.latency_ns += run->latency_ns;
    a->meta.samples += run->samples;
    if (!a->options.add) {
        put_run(a, run);
        return;
    }
    a->shards.wall_ns += run->wall_ns;
    a->shards.latency_ns += run->latency_ns;
    a->shards.samples += run->samples;
    a->shards.time += run->time;
    a->shards.energy += run->energy;
}

static void take_arc(struct input *in, const struct pbin_arc *arc)
{
    struct aggregate *a = in->aggregate;
    const struct strings *texts = pbin_reader_definitions(in->reader)->strings;
    const uint32_t from[4] = {arc->caller_binary, arc->caller, arc->callee_binary, arc->callee};
    uint32_t key[4];
    for (int i = 0; i < 4; i++)
        key[i] = strings_intern(a->rows.texts, strings_get(texts, from[i]));
    uint32_t index = strings_intern_bytes(a->arc_keys, (const char *)key, sizeof key) - 1;
    if (index == a->arc_count) {
        mem_reserve(&a->arcs, &a->arc_capacity, a->arc_count + 1, sizeof *a->arcs);
        a->arcs[a->arc_count++] = (struct pbin_arc){key[0], key[1], key[2], key[3], 0};
    }
    a->arcs[index].count += arc->count;
}

static int take(struct input *in, const struct pbin_batch *batch, struct error *err)
{
    struct aggregate *a = in->aggregate;
    struct pbin_run run;
    switch (batch->item) {
    case PBIN_SAMPLES:
        attribution_add(&in->attribution, &batch->samples, pbin_reader_definitions(in->reader));
        return 0;
    case PBIN_ROW:
        return take_row(in, &batch->row, err);
    case PBIN_RUN:
        run = batch->run;
        run.name = strings_intern(a->rows.texts,
                                  strings_get(pbin_reader_definitions(in->reader)->strings,
                                              batch->run.name));
        take_run(a, &run);
        return 0;
    case PBIN_ARC:
        take_arc(in, &batch->arc);
        return 0;
    case PBIN_END:
        break;
    }
    return 0;
}

/* Sums over the rows of a full profile: the run's time and energy. */
static void end_full(struct input *in)
{
    struct aggregate *a = in->aggregate;
    const struct attribution *done = &in->attribution;
    const struct pbin_meta *meta = pbin_reader_meta(in->reader);
    struct pbin_run run = {.latency_ns = meta->latency_ns, .samples = done->samples};
    run.name = strings_intern(a->rows.texts, meta->name);
    run.wall_ns = meta->wall_ns != 0 ? meta->wall_ns : done->wall_ns;
    run.time = done->time;
    run.energy = done->energy;
    if (done->bad_values > 0)
        report_warning(in->reporter,
                       "%s: %" PRIu64 " PMU values are not finite or too large to be summed: "
                       "counted as 0",
                       in->name, done->bad_values);
    if (done->crowded > 0 && meta->cpus == 0)
        report_warning(in->reporter,
                       "%s: several threads a sample and no CPU times: each counts as running all "
                       "the time (prof2pbin -c N says how many CPUs there were)",
                       in->name);
    if (run.wall_ns == 0 && done->samples > 1)
        report_warning(in->reporter, "%s: no wall time: %s cannot be known", in->name,
                       a->quantity.name != NULL ? a->quantity.name : "the sampling frequency");
    take_run(a, &run);
}

static int read_all(struct input *in, struct error *err)
{
    struct pbin_batch batch;
    int got;
    while ((got = pbin_reader_next(in->reader, &batch, err)) > 0)
        if (take(in, &batch, err) != 0)
            return -1;
    return got;
}

int aggregate_read(struct aggregate *a, struct pbin_reader *reader, const char *name,
                   struct reporter *reporter, struct error *err)
{
    const struct pbin_meta *meta = pbin_reader_meta(reader);
    struct input in = {.aggregate = a, .reader = reader, .name = name, .reporter = reporter};
    if (merge_meta(a, meta, name, err) != 0)
        return -1;
    if (meta->keys != NULL && match_keys(a, meta->keys, name, &in.columns, err) != 0)
        return -1;
    attribution_start(&in.attribution, meta, &a->quantity, &a->options, &a->rows);
    int result = read_all(&in, err);
    if (result == 0 && meta->keys == NULL)
        end_full(&in);
    attribution_free(&in.attribution);
    if (result == 0 && !a->options.add)
        rowset_end_run(&a->rows);
    if (result == 0 && pbin_reader_cut(reader))
        report_warning(reporter, "%s: truncated, kept %" PRIu64 " samples", name,
                       pbin_reader_samples(reader));
    return result;
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

int aggregate_finish(struct aggregate *a, struct error *err)
{
    if (!a->any)
        return error_set(err, NULL, NO_OFFSET, "no profile was read");
    if (a->options.add) {
        rowset_end_run(&a->rows);
        a->shards.name = strings_intern(a->rows.texts, a->meta.name);
        put_run(a, &a->shards);
    }
    rowset_sort(&a->rows);
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

const char *aggregate_text(const struct aggregate *a, uint64_t string)
{
    return strings_get(a->rows.texts, (uint32_t)string);
}

const struct aggregate_options *aggregate_options_of(const struct aggregate *a)
{
    return &a->options;
}

const struct quantity *aggregate_quantity(const struct aggregate *a)
{
    return &a->quantity;
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

size_t aggregate_arc_count(const struct aggregate *a)
{
    return a->arc_count;
}

const struct pbin_arc *aggregate_arc(const struct aggregate *a, size_t number)
{
    return &a->arcs[number];
}
