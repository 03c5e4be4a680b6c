/* Aggregation: reading full and aggregated profiles.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/aggregate_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/parallel.h"
#include "analyze/aggregate/suggest.h"
#include "analyze/attribute/stretch_work.h"
#include "analyze/attribute/words.h"
#include "base/memory.h"
#include "base/progress.h"

/* The position of each key of the aggregate among the keys of an aggregated profile. */
struct key_columns {
    size_t at[PBIN_MAX_KEYS];
    bool coarser;   /* rows will be joined: entries become unknown, except for calls */
    bool mixes;     /* rows of several functions will be joined */
    size_t binary;  /* position of this key; the number of keys if there is none */
    bool addresses; /* values of the key pc are addresses in mappings, not offsets in files */
};

static int match_keys(const struct aggregate *a, const struct pbin_reader *reader, const char *name,
                      struct key_columns *columns, struct error *err)
{
    const struct pbin_keys *keys = &a->options.rows.keys, *theirs = pbin_reader_keys(reader);
    for (size_t i = 0; i < keys->count; i++) {
        const char *key = pbin_key_get((size_t)keys->key[i])->name;
        columns->at[i] = pbin_keys_index(theirs, key);
        if (columns->at[i] == theirs->count)
            return error_set(err, name, NO_OFFSET,
                             "was aggregated by %s: key %s is missing (-k chooses keys)",
                             pbin_reader_meta(reader)->keys, key);
        if (name_rules_linkage(a->options.rows.names, key))
            return error_set(err, name, NO_OFFSET,
                             "was aggregated: its names cannot be changed by --no-demangle");
    }
    columns->binary = pbin_keys_index(theirs, "binary");
    columns->addresses = keys->offsets && columns->binary < theirs->count;
    columns->coarser = keys->count < theirs->count || name_rules_any(a->options.rows.names);
    columns->mixes = pbin_keys_index(theirs, "function") < theirs->count &&
                     (pbin_keys_index(keys, "function") == keys->count ||
                      name_rules_apply(a->options.rows.names, "function"));
    return 0;
}

/* State while one profile is read. */
struct input {
    struct aggregate *aggregate;
    struct pbin_reader *reader;
    const char *name;
    struct reporter *reporter;
    struct quantity quantity; /* of this profile, with its supply voltage */
    struct attribution attribution;
    struct key_columns columns;
    uint16_t *fit_columns; /* of an aggregated profile: columns of the aggregate's sums */
    size_t fit_column_count, fit_capacity;
    uint64_t runs, most_runs; /* of an aggregated profile: its runs, the most runs of a row */
    struct input_row {
        uint32_t index;              /* in the aggregate */
        bool joined;                 /* with others in the same run */
        bool mixed;                  /* with other functions */
        uint64_t calls;              /* UINT64_MAX: unknown */
        uint64_t seen;               /* a bit for each measure of the profile with a value */
    } * rows;                        /* of an aggregated profile */
    int measures[PBIN_MAX_MEASURES]; /* numbers in the aggregate of the measures of the profile */
    size_t row_count, row_capacity, measure_count;
};

/* The row of an aggregated profile to which filters are applied. */
struct row_question {
    const struct aggregate *aggregate;
    const uint64_t *key;
    char number[24];
};

static const char *row_text_of(void *context, int key)
{
    struct row_question *q = context;
    const struct pbin_key *what = pbin_key_get((size_t)key);
    size_t at =
        pbin_keys_index(&q->aggregate->options.rows.keys, what->name); /* see check_selection */
    if (what->is_text)
        return strings_get(q->aggregate->rows.texts, (uint32_t)q->key[at]);
    if (label_of_number(q->key[at]) != NULL)
        return label_of_number(q->key[at]);
    snprintf(q->number, sizeof q->number, strcmp(what->name, "pc") == 0 ? "0x%" PRIx64 : "%" PRIu64,
             q->key[at]);
    return q->number;
}

bool aggregate_selects(const struct aggregate *a, const uint64_t *key, const char *target)
{
    const struct selection *s = a->options.rows.selection;
    struct row_question question = {.aggregate = a, .key = key};
    if (s == NULL)
        return true;
    if (s->exclude_external && target != NULL &&
        strcmp(row_text_of(&question, pbin_key_find("binary", 6)), label_unlike(target)) != 0)
        return false;
    return s->filter_count == 0 || selection_passes(s, row_text_of, &question);
}

/* Checks that the sums of ROW are plausible; squares are not checked. Returns 0, or -1 with ERR
 * filled. */
static int check_row(struct input *in, const struct pbin_row *row, struct error *err)
{
    const struct pbin_sums *s = &row->sums;
    if (s->runs == 0)
        return error_set(err, in->name, NO_OFFSET, "row without a run");
    if (s->samples < 0 || s->time < 0 || s->time_min < 0)
        return error_set(err, in->name, NO_OFFSET, "row with a negative time or number of samples");
    if (s->time_min > s->time_max || s->energy_min > s->energy_max)
        return error_set(err, in->name, NO_OFFSET, "row whose minimum exceeds its maximum");
    in->most_runs = s->runs > in->most_runs ? s->runs : in->most_runs;
    return 0;
}

/* Aggregated profiles of several runs contain only sums, not the values of each run. */
static int take_run(struct input *in, const struct pbin_run *from, struct error *err)
{
    struct aggregate *a = in->aggregate;
    struct pbin_run run = *from;
    if (++in->runs > 1 && (in->columns.coarser || a->options.add))
        return error_set(err, in->name, NO_OFFSET,
                         "contains sums over several runs, which cannot be %s",
                         a->options.add ? "added as shards of one run" : "reduced to fewer keys");
    if (run.time < 0)
        return error_set(err, in->name, NO_OFFSET, "run with a negative time");
    run.name = strings_intern(
        a->rows.texts, strings_get(pbin_reader_definitions(in->reader)->strings, from->name));
    aggregate_take_run(a, &run);
    return 0;
}

/* Converts the key of a row to texts of the aggregate. Returns 0, or -1 with ERR filled. */
static int take_key(struct input *in, const uint64_t *from, uint64_t *key, struct error *err)
{
    struct aggregate *a = in->aggregate;
    const struct pbin_definitions *all = pbin_reader_definitions(in->reader);
    const char *binary = "";
    if (in->columns.addresses && from[in->columns.binary] < strings_count(all->strings))
        binary = strings_get(all->strings, (uint32_t)from[in->columns.binary]);
    for (size_t i = 0; i < a->options.rows.keys.count; i++) {
        uint64_t value = from[in->columns.at[i]];
        if (a->rows.is_text[i] && value >= strings_count(all->strings))
            return error_set(err, in->name, NO_OFFSET, "row refers to an undefined text");
        const char *name = pbin_key_get((size_t)a->options.rows.keys.key[i])->name;
        key[i] = value;
        if (!a->rows.is_text[i]) {
            if (in->columns.addresses && strcmp(name, "pc") == 0 && label_of_number(value) == NULL)
                key[i] = key_offset(all, binary, value);
            continue;
        }
        const char *text = strings_get(all->strings, (uint32_t)value);
        char *rewritten = name_rules_apply(a->options.rows.names, name)
                              ? name_rules_rewrite(a->options.rows.names, name, text)
                              : NULL;
        key[i] = strings_intern(a->rows.texts, rewritten != NULL ? rewritten : text);
        free(rewritten);
    }
    return 0;
}

/* Adds a column of the sums for least squares. Returns 0, or -1 with ERR filled. */
static int take_column(struct input *in, const struct pbin_fit_column *column, struct error *err)
{
    struct aggregate *a = in->aggregate;
    uint64_t key[PBIN_MAX_KEYS] = {0};
    uint16_t to = (uint16_t)column->kind;
    if (column->cpu < 0 || column->switched < 0)
        return error_set(err, in->name, NO_OFFSET, "window column with a negative time");
    if (column->kind == PBIN_FIT_ROW) {
        if (take_key(in, column->key, key, err) != 0)
            return -1;
        bool selected = aggregate_selects(a, key, pbin_reader_meta(in->reader)->target);
        to =
            fit_column(a->fit, selected ? rowset_find(&a->rows, key) : key_find_excluded(&a->rows));
    }
    mem_reserve(&in->fit_columns, &in->fit_capacity, in->fit_column_count + 1,
                sizeof *in->fit_columns);
    in->fit_columns[in->fit_column_count++] = to;
    fit_put(a->fit, &a->fit->cpu[to], column->cpu);
    fit_put(a->fit, &a->fit->switched[to], column->switched);
    return 0;
}

static void take_sum(struct input *in, const struct pbin_fit_sum *sum)
{
    fit_put_pair(in->aggregate->fit, sum->group, in->fit_columns[sum->a], in->fit_columns[sum->b],
                 sum->a != sum->b, sum->value);
}

/* Rows that are joined (because they have fewer keys, are shards, or are excluded by filters) are
 * added to the sums of the current run, because the square of a sum is not the sum of squares. */
static int take_row(struct input *in, const struct pbin_row *row, struct error *err)
{
    struct aggregate *a = in->aggregate;
    if (check_row(in, row, err) != 0)
        return -1;
    uint64_t key[PBIN_MAX_KEYS] = {0};
    if (take_key(in, row->key, key, err) != 0)
        return -1;
    bool selected = aggregate_selects(a, key, pbin_reader_meta(in->reader)->target);
    uint32_t index = selected ? rowset_find(&a->rows, key) : key_find_excluded(&a->rows);
    if (selected && !in->columns.coarser && a->rows.sums[index].input == a->inputs)
        return error_set(err, in->name, NO_OFFSET, "duplicate row");
    a->rows.sums[index].input = a->inputs;
    mem_reserve(&in->rows, &in->row_capacity, in->row_count + 1, sizeof *in->rows);
    in->rows[in->row_count++] =
        (struct input_row){index, !selected || in->columns.coarser || a->options.add,
                           !selected || in->columns.mixes, row->sums.entries, 0};
    if (selected && !in->columns.coarser && !a->options.add) {
        a->rows.overflow |= !pbin_sums_merge(&a->rows.rows[index].sums, &row->sums);
        return 0;
    }
    struct row_sums part = {
        .touched = true,
        .entries = row->sums.entries,
        .entries_unknown =
            (in->columns.coarser && !pbin_entries_are_calls(pbin_reader_meta(in->reader))) ||
            !selected || row->sums.entries == UINT64_MAX,
        .samples = row->sums.samples,
        .time = row->sums.time,
        .energy = row->sums.energy,
    };
    a->rows.overflow |= !row_sums_merge(&a->rows.sums[index], &part);
    return 0;
}

/* The number in the aggregate of a MEASURE of the profile, or -1 with ERR filled. */
static int take_measure(struct input *in, uint32_t measure, struct error *err)
{
    struct strings *texts = in->aggregate->rows.texts;
    const struct pbin_definitions *all = pbin_reader_definitions(in->reader);
    for (; in->measure_count <= measure; in->measure_count++) {
        struct pbin_measure kind = all->measures[in->measure_count];
        kind.name = strings_intern(texts, strings_get(all->strings, kind.name));
        kind.unit = strings_intern(texts, strings_get(all->strings, kind.unit));
        int number = measures_add(&in->aggregate->measures, &kind, texts, in->name, err);
        if (number < 0)
            return -1;
        in->measures[in->measure_count] = number;
    }
    return in->measures[measure];
}

/* The cell of a MEASURE of the profile in its ROW, to add a value to. Returns NULL with ERR filled
 * if it is invalid. */
static struct measure_cell *take_cell(struct input *in, uint32_t measure, uint32_t row, int *number,
                                      struct error *err)
{
    struct aggregate *a = in->aggregate;
    struct input_row *to = &in->rows[row];
    *number = take_measure(in, measure, err);
    if (*number < 0)
        return NULL;
    if (to->seen >> measure & 1) {
        error_set(err, in->name, NO_OFFSET, "row with two values of measure '%s'",
                  strings_get(a->rows.texts, a->measures.kind[*number].name));
        return NULL;
    }
    to->seen |= UINT64_C(1) << measure;
    struct measure_cell *cell = measures_cell(&a->measures, (size_t)*number, to->index);
    cell->unknown |= to->mixed && a->measures.kind[*number].join == PBIN_ADD_SAME;
    return cell;
}

static int take_measured(struct input *in, const struct pbin_measured *measured, struct error *err)
{
    int number;
    struct measures *m = &in->aggregate->measures;
    const struct pbin_value *value = &measured->value;
    const struct input_row *row = &in->rows[measured->row];
    struct measure_cell *cell = take_cell(in, measured->measure, measured->row, &number, err);
    if (cell == NULL)
        return -1;
    if (value->least < 0 || value->most < value->least || value->value < value->least)
        return error_set(err, in->name, NO_OFFSET,
                         "value of a measure that is negative or less than its minimum");
    in->most_runs = value->runs > in->most_runs ? value->runs : in->most_runs;
    if (row->joined)
        measures_put(m, (size_t)number, row->index, value->value);
    else
        m->overflow |= !pbin_value_merge(&cell->total, value, m->kind[number].join);
    return 0;
}

static int take_histogram(struct input *in, const struct pbin_histogram *h, struct error *err)
{
    int number;
    if (take_cell(in, h->measure, h->row, &number, err) == NULL)
        return -1;
    measures_put_buckets(&in->aggregate->measures, (size_t)number, in->rows[h->row].index,
                         h->buckets, h->count);
    return 0;
}

/* Older versions recorded calls only as entries. */
static int take_entries_as_calls(struct input *in, struct error *err)
{
    struct measures *m = &in->aggregate->measures;
    struct strings *texts = in->aggregate->rows.texts;
    const struct pbin_measure kind = {.name = strings_intern(texts, "calls")};
    if (!pbin_entries_are_calls(pbin_reader_meta(in->reader)) || in->runs != 1 ||
        pbin_reader_definitions(in->reader)->measure_count > 0)
        return 0;
    int number = measures_add(m, &kind, texts, in->name, err);
    for (size_t i = 0; i < in->row_count && number >= 0; i++)
        if (in->rows[i].calls != UINT64_MAX)
            measures_put(m, (size_t)number, in->rows[i].index, (exact)in->rows[i].calls);
    return number < 0 ? -1 : 0;
}

static int take(struct input *in, const struct pbin_batch *batch, struct error *err)
{
    struct aggregate *a = in->aggregate;
    switch (batch->item) {
    case PBIN_SAMPLES:
        attribution_look(&in->attribution, &batch->samples, pbin_reader_definitions(in->reader));
        attribution_add(&in->attribution, &batch->samples, pbin_reader_definitions(in->reader));
        return 0;
    case PBIN_ROW:
        return take_row(in, &batch->row, err);
    case PBIN_RUN:
        return take_run(in, &batch->run, err);
    case PBIN_ARC:
        aggregate_take_arc(a, &batch->arc, pbin_reader_definitions(in->reader)->strings);
        return 0;
    case PBIN_COLUMN:
        return take_column(in, &batch->fit_column, err);
    case PBIN_SUM:
        take_sum(in, &batch->fit_sum);
        return 0;
    case PBIN_MEASURED:
        return take_measured(in, &batch->measured, err);
    case PBIN_BUCKETS:
        return take_histogram(in, &batch->histogram, err);
    case PBIN_READING:
    case PBIN_END:
        break;
    }
    return 0;
}

/* Long intervals lead to a warning if they take at least this part of the time: the end of a
 * process or a busy machine causes some in most recordings. */
#define GAP_NOTABLE 0.01

/* Threads that wait are in no sample of an engine that interrupts running threads. */
static void warn_of_waits(const struct input *in)
{
    const struct attribution *done = &in->attribution;
    if (done->weigher.options.wall_time && done->meta->own_intervals != PBIN_OWN_NONE)
        report_warning(in->reporter,
                       "%s: each sample contains one running thread: with --wall-time, threads "
                       "that run at the same time share it, and waits are missing (record with "
                       "sampler --engine=ptrace)",
                       in->name);
}

/* The kernel was not sampled, for an ordinary user, or its callers were not recorded. */
static void warn_of_callers(const struct input *in, const struct pbin_definitions *all)
{
    size_t i = 0;
    if (!in->aggregate->options.rows.keys.caller || all->callers != NULL)
        return;
    while (i < all->location_count &&
           strcmp(strings_get(all->strings, all->locations[i].binary), LABEL_KERNEL) != 0)
        i++;
    if (i < all->location_count)
        report_warning(in->reporter,
                       "%s: the recording does not show which code called the kernel, whose time "
                       "stays in " LABEL_KERNEL " (record as root, or with sampler "
                       "--engine=ptrace)",
                       in->name);
}

/* Warns about the contents of a full profile. */
static void warn_of_attribution(const struct input *in, const struct pbin_run *run)
{
    const struct attribution *done = &in->attribution;
    uint64_t median_ns;
    double gap_part, longest = (double)done->gaps.longest_ns / 1e9;
    uint64_t gaps = gaps_found(&done->gaps, &median_ns, &gap_part);
    bool long_gap = longest >= 1;
    if (done->bad_values > 0)
        report_warning(in->reporter,
                       "%s: %" PRIu64 " PMU values are not finite or too large to add up: "
                       "counted as 0",
                       in->name, done->bad_values);
    warn_of_waits(in);
    const struct pbin_definitions *all = pbin_reader_definitions(in->reader);
    warn_of_callers(in, all);
    suggest_names(done->selection, all, in->name, in->reporter);
    if (done->selection->phase != NULL &&
        !suggest_phase(done->selection->phase, all, in->name, in->reporter) &&
        done->phase < (done->selection->phase_number > 0 ? done->selection->phase_number : 1))
        report_warning(in->reporter, "%s: no such phase: %s was entered %" PRIu64 " time%s",
                       in->name, done->selection->phase, done->phase, done->phase == 1 ? "" : "s");
    if (done->crowded > 0 && done->meta->cpus == 0)
        report_warning(
            in->reporter,
            "%s: several threads per sample, but no CPU times: each counts as running all "
            "the time (set the number of CPUs with prof2pbin -c N)",
            in->name);
    if (gap_part >= GAP_NOTABLE && done->weigher.options.max_gap == 0 &&
        !in->aggregate->options.no_gap_warning)
        report_first(
            in->reporter,
            "%s: %" PRIu64 " interval%s over %d times the median (about %.3g ms): %s%.3g %s, "
            "ending at %.3f s%s",
            in->name, gaps, gaps > 1 ? "s are" : " is", GAP_TIMES, (double)median_ns / 1e6,
            gaps > 1 ? "the longest " : "", long_gap ? longest : 1e3 * longest,
            long_gap ? "s" : "ms", exact_to_double(done->gaps.longest_at, TIME_SHIFT, 1000000000),
            in->aggregate->options.has_max_gap ? " (--max-gap S charges the excess to " LABEL_GAP
                                                 ")"
                                               : "");
    if (run->wall_ns == 0 && done->samples > 1)
        report_warning(in->reporter, "%s: no wall time: energy and sampling frequency are unknown",
                       in->name);
}

/* Warns if the CPU time of each window, which least squares need, is not known. */
static void warn_of_fit(const struct input *in)
{
    const struct fit *fit = in->attribution.fit;
    if (fit != NULL && fit->averaged > fit->running / 4)
        report_warning(in->reporter,
                       "%s: CPU times are averages over several samples: --energy-model=fit cannot "
                       "determine what ran in a window, and its intervals are too narrow",
                       in->name);
    if (fit != NULL && (fit_excess_is_most(&fit->excess) || fit_own_is_most(&fit->own)))
        report_warning(in->reporter,
                       "%s: functions run for no longer than the time between two samples: "
                       "--energy-model=fit can hardly separate them, and its intervals are wide",
                       in->name);
}

/* Adds the windows of the sensor, if it was read more often than it changed. Otherwise, each sample
 * is a window. */
static void take_windows(const struct input *in)
{
    const struct share_work *share = in->attribution.weigher.share;
    if (share == NULL)
        return;
    double samples = share->windows > 0 ? (double)share->intervals / (double)share->windows : 1;
    in->aggregate->window_ns += samples * exact_approximate(in->attribution.wall, TIME_SHIFT);
    in->aggregate->window_samples += (double)in->attribution.samples;
    if (share->windows > 0)
        report_verbose(
            in->reporter,
            "%s: the power is updated every %.3g samples: energy is divided over that time",
            in->name, samples);
}

static uint64_t to_ns(exact time)
{
    return (uint64_t)((time + ((exact)1 << (TIME_SHIFT - 1))) >> TIME_SHIFT);
}

/* The part of the sampler's own time that belongs to the selected samples. Profiles may contain any
 * numbers. */
static uint64_t latency_of(const struct attribution *done)
{
    const struct pbin_meta *meta = done->meta;
    double part = (double)meta->latency_ns * (double)done->samples / (double)meta->samples;
    return part < 0x1p64 ? (uint64_t)part : UINT64_MAX;
}

/* The part of LATENCY that was subtracted from intervals, at most WALL. */
static uint64_t paid_of(const struct attribution *done, uint64_t latency, uint64_t wall)
{
    const struct weigher *w = &done->weigher;
    double whole = (double)w->latency * (double)w->number;
    double part = whole > 0 ? 1 - (double)w->debt / whole : 0;
    double paid = (double)latency * part;
    return paid < (double)wall ? (uint64_t)(paid + 0.5) : wall;
}

/* Returns whether all measured energy is in rows. This is not so if the energy model loses some, or
 * if only part of the time is selected: energy measured around a limit is divided among the samples
 * on both sides of it. */
static bool keeps_energy(const struct attribution *done)
{
    return !done->weigher.options.model->loses && !done->selection->has_window &&
           done->selection->phase == NULL;
}

static int check_balance(const struct input *in, struct error *err)
{
    const struct attribution *done = &in->attribution;
    exact rest;
    if (done->rows->overflow || __builtin_sub_overflow(done->measured, done->energy, &rest))
        return aggregate_too_large(in->name, err);
    if (rest == 0 || !keeps_energy(done))
        return 0;
    return error_set(err, in->name, NO_OFFSET,
                     "the balance does not add up: measured %.9g, in rows %.9g %s",
                     exact_approximate(done->measured, ENERGY_SHIFT),
                     exact_approximate(done->energy, ENERGY_SHIFT),
                     in->quantity.name != NULL ? in->quantity.unit : "J");
}

/* Adds COUNT thread samples without CPU time; in a full profile, only the part that is selected. */
static void take_waiting(const struct input *in, uint64_t count)
{
    struct aggregate *a = in->aggregate;
    uint64_t all = pbin_reader_samples(in->reader), selected = in->attribution.samples;
    if (in->attribution.meta->keys == NULL && selected < all)
        count = (uint64_t)((double)count * (double)selected / (double)all);
    if (__builtin_add_overflow(a->meta.idle_samples, count, &a->meta.idle_samples))
        a->rows.overflow = true;
}

/* Adds a full profile as one run. */
static void end_full(struct input *in)
{
    const struct attribution *done = &in->attribution;
    const struct pbin_meta *meta = done->meta;
    bool part = done->selection->has_window || done->selection->phase != NULL ||
                pbin_reader_cut(in->reader);
    struct pbin_run run = {.samples = done->samples, .time = done->time, .energy = done->energy};
    run.name = strings_intern(in->aggregate->rows.texts, meta->name);
    run.wall_ns = meta->wall_ns != 0 && !part ? meta->wall_ns : to_ns(done->wall);
    run.latency_ns = meta->latency_ns;
    if (part && meta->samples > 0)
        run.latency_ns = latency_of(done);
    if (done->weigher.options.latency == LATENCY_OF_INTERVALS)
        run.wall_ns -= paid_of(done, run.latency_ns, run.wall_ns);
    if (done->weigher.options.model->loses)
        in->aggregate->rows.overflow |=
            __builtin_add_overflow(in->aggregate->unattributed, done->measured - done->energy,
                                   &in->aggregate->unattributed);
    take_waiting(in, done->waiting);
    warn_of_attribution(in, &run);
    warn_of_fit(in);
    take_windows(in);
    aggregate_take_run(in->aggregate, &run);
}

static int read_all(struct input *in, size_t parts, struct error *err)
{
    struct pbin_batch batch;
    struct progress progress;
    int got;
    progress_start(&progress, in->reporter, pbin_reader_meta(in->reader)->samples / parts,
                   "samples");
    while ((got = pbin_reader_next(in->reader, &batch, err)) > 0) {
        if (take(in, &batch, err) != 0) {
            got = -1;
            break;
        }
        progress_at(&progress, pbin_reader_samples(in->reader));
    }
    progress_end(&progress);
    return got;
}

/* Reads parts of the profile with several threads; this thread reads the first part. */
static int read_parts(struct input *in, size_t count, struct error *err)
{
    struct parallel *parts = NULL;
    if (in->attribution.meta->keys == NULL)
        parts = parallel_start(in->reader, &in->attribution, &in->aggregate->options.rows, count);
    if (parts == NULL)
        return read_all(in, 1, err);
    return parallel_join(parts, read_all(in, count, err), err);
}

static bool has_key(const struct aggregate *a, const char *name)
{
    return pbin_keys_index(&a->options.rows.keys, name) < a->options.rows.keys.count;
}

/* Aggregated profiles can only be selected by the keys of their rows, and keep their
 * attribution. */
static int check_aggregated(const struct aggregate *a, const struct pbin_meta *meta,
                            const char *name, struct error *err)
{
    const struct selection *s = a->options.rows.selection;
    char word[ATTRIBUTION_WORD];
    if (a->options.rows.keys.only_target != 0)
        return error_set(err, name, NO_OFFSET, "aggregated profile: --external-keys needs samples");
    if (attribution_lacks(meta->attribution, &a->options.rows, word))
        return error_set(err, name, NO_OFFSET, "aggregated profile: --%s needs samples", word);
    if (s != NULL && (s->has_window || s->phase != NULL))
        return error_set(err, name, NO_OFFSET, "aggregated profile: %s needs samples",
                         s->phase != NULL ? "--phase" : "--start or --end");
    if (s == NULL)
        return 0;
    for (size_t i = 0; i < s->filter_count; i++)
        if (!has_key(a, pbin_key_get((size_t)s->filters[i].key)->name))
            return error_set(err, name, NO_OFFSET,
                             "aggregated profile: a filter needs its key, %s, among the keys (-k)",
                             pbin_key_get((size_t)s->filters[i].key)->name);
    if (s->exclude_external && !has_key(a, "binary"))
        return error_set(err, name, NO_OFFSET,
                         "aggregated profile: --exclude-external needs binary among the keys (-k)");
    return 0;
}

/* Adds the energy of an aggregated profile that is in no row. */
static int take_unattributed(struct input *in, struct error *err)
{
    double joule = pbin_reader_meta(in->reader)->unattributed;
    if (!exact_fits(joule, ENERGY_SHIFT, WEIGH_ROOM))
        return error_set(err, in->name, NO_OFFSET, "unattributed energy is out of range: %g J",
                         joule);
    in->aggregate->rows.overflow |=
        __builtin_add_overflow(in->aggregate->unattributed, exact_of_double(joule, ENERGY_SHIFT),
                               &in->aggregate->unattributed);
    return 0;
}

/* Checks an aggregated profile after it has been read as a whole. */
static int end_aggregated(struct input *in, struct error *err)
{
    if (take_unattributed(in, err) != 0)
        return -1;
    take_waiting(in, pbin_reader_meta(in->reader)->idle_samples);
    suggest_names(in->attribution.selection, pbin_reader_definitions(in->reader), in->name,
                  in->reporter);
    if (in->aggregate->fit != NULL && in->fit_column_count == 0)
        return error_set(err, in->name, NO_OFFSET,
                         "was aggregated without --energy-model=fit: it has no sums of windows");
    if (in->most_runs > in->runs)
        return error_set(err, in->name, NO_OFFSET,
                         "a row counts %" PRIu64 " runs, but the profile has %" PRIu64,
                         in->most_runs, in->runs);
    return take_entries_as_calls(in, err);
}

/* Ends the profile after everything has been read. Returns 0, or -1 with ERR filled. */
static int end_profile(struct input *in, struct error *err)
{
    struct aggregate *a = in->aggregate;
    attribution_end(&in->attribution, pbin_reader_definitions(in->reader));
    if (in->attribution.meta->keys != NULL)
        return end_aggregated(in, err);
    if (check_balance(in, err) != 0)
        return -1;
    end_full(in);
    if (a->fit != NULL)
        fit_merge(a->fit, in->attribution.fit, NULL);
    return 0;
}

/* Gives a full profile the attribution of this aggregate. */
static int take_facts(struct aggregate *a, const struct pbin_meta *meta, const char *name,
                      struct error *err)
{
    struct pbin_meta facts = *meta;
    char *words = meta->keys == NULL ? attribution_words(&a->options.rows) : NULL;
    if (meta->keys == NULL)
        facts.attribution = words;
    int result = aggregate_take_meta(a, &facts, name, err);
    free(words);
    return result;
}

int aggregate_read(struct aggregate *a, struct pbin_reader *reader, const char *name,
                   size_t threads, struct reporter *reporter, struct error *err)
{
    const struct pbin_meta *meta = pbin_reader_meta(reader);
    struct input in = {.aggregate = a, .reader = reader, .name = name, .reporter = reporter};
    a->inputs++;
    bool needs_target =
        a->options.rows.keys.only_target != 0 ||
        (a->options.rows.selection != NULL && a->options.rows.selection->exclude_external);
    if (needs_target && meta->target == NULL)
        return error_set(err, name, NO_OFFSET,
                         "does not name its target binary: use --filter binary=NAME");
    if (meta->keys != NULL && check_aggregated(a, meta, name, err) != 0)
        return -1;
    if (take_facts(a, meta, name, err) != 0)
        return -1;
    if (meta->keys != NULL && match_keys(a, reader, name, &in.columns, err) != 0)
        return -1;
    if (a->fit != NULL && meta->keys != NULL)
        pbin_reader_want(reader, PBIN_WANT_FIT);
    if (a->fit != NULL)
        pbin_reader_want(reader, PBIN_WANT_EQUAL);
    if (!a->options.rows.weigh.ignore_others)
        pbin_reader_want(reader, PBIN_WANT_BUSY);
    pbin_reader_want(reader, PBIN_WANT_MEASURES);
    quantity_of(meta, &in.quantity);
    if (a->fit != NULL && in.quantity.name == NULL)
        return error_set(err, name, NO_OFFSET, "--energy-model=fit: the profile has no energies");
    attribution_start(&in.attribution, meta, &in.quantity, &a->options.rows, &a->rows);
    int result = read_parts(&in, threads, err);
    if (result == 0)
        result = end_profile(&in, err);
    attribution_free(&in.attribution);
    free(in.fit_columns);
    free(in.rows);
    if (result == 0 && !a->options.add) {
        rowset_end_run(&a->rows);
        measures_end_run(&a->measures);
    }
    a->rows.overflow |= a->measures.overflow;
    if (result == 0 && a->rows.overflow)
        result = aggregate_too_large(name, err);
    if (result == 0)
        pbin_reader_warn_cut(reader, name, reporter);
    return result;
}
