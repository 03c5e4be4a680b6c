/* The sums over the calls of a metered program, as a table.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/results.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"

static void add_histogram(struct meter_sums *to, const uint64_t *from)
{
    if (from == NULL)
        return;
    if (to->histogram == NULL)
        to->histogram = mem_zalloc(LOG_BUCKETS, sizeof *to->histogram);
    for (size_t i = 0; i < LOG_BUCKETS; i++)
        to->histogram[i] += from[i];
}

static void add_record(struct meter_sums *to, const struct meter_record *from)
{
    struct meter_record *r = &to->record;
    if (from->returned > 0) {
        r->least = r->returned == 0 || from->least < r->least ? from->least : r->least;
        r->most = from->most > r->most ? from->most : r->most;
    }
    r->calls += from->calls;
    r->returned += from->returned;
    r->unwound += from->unwound;
    r->untimed += from->untimed;
    r->inclusive += from->inclusive;
    r->self += from->self;
    r->total += from->total;
    /* a signal handler may have abandoned a call before its hook was ready */
    uint64_t open = from->calls - from->returned - from->unwound - from->untimed;
    uint64_t inside = from->depth < open ? from->depth : open;
    r->unwound += open - inside;
    to->inside += inside;
}

/* Returns the sums for FUNCTION, if threads are distinguished, in the thread of BLOCK. */
static struct meter_sums *sums_of(struct meter_results *results, struct numbers *index,
                                  uint32_t function, const struct meter_thread *owner)
{
    uint64_t key = function;
    if (results->per_thread)
        key |= (uint64_t)owner->tid << 32;
    uint32_t number = numbers_intern(index, key);
    if (number < results->count)
        return &results->items[number];
    mem_reserve(&results->items, &results->capacity, results->count + 1, sizeof *results->items);
    struct meter_sums *sums = &results->items[results->count++];
    *sums = (struct meter_sums){.function = function};
    if (results->per_thread) {
        sums->process = owner->pid;
        sums->thread = owner->tid;
        sums->program = owner->program;
        sums->thread_name = owner->shared ? "several" : owner->name;
    }
    return sums;
}

static int compare_by_cost(const void *a, const void *b)
{
    const struct meter_sums *x = a, *y = b;
    const struct meter_record *r = &x->record, *s = &y->record;
    if (r->inclusive != s->inclusive)
        return r->inclusive > s->inclusive ? -1 : 1;
    if (r->calls != s->calls)
        return r->calls > s->calls ? -1 : 1;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

/* If a thread has abandoned a recursive call, the inner calls have a self time, but the call has no
 * inclusive time. */
static void limit_self(struct meter_sums *sums)
{
    struct meter_record *r = &sums->record;
    if (sums->inside == 0 && r->self > r->inclusive)
        r->self = r->inclusive;
}

/* Adds the energy of long calls of the FUNCTIONS. Number 0 is the library's own function: on a busy
 * machine, a call for calibration may be long. The numbers come from memory of the program. */
static void add_energy(struct meter_results *results, struct numbers *index, uint32_t functions,
                       const struct session *session, const struct energy *energy)
{
    const double shortest = (double)(ENERGY_PERIODS * energy_period(energy));
    uint64_t count = session_interval_count(session);
    for (uint64_t i = 0; i < count; i++) {
        const struct meter_interval *interval = session_interval(session, i);
        if (interval == NULL || interval->block >= session_block_count(session))
            continue;
        uint32_t function = interval->function;
        if (function == 0 || function >= functions)
            continue;
        double from = session_time(session, interval->start),
               to = session_time(session, interval->end);
        if (to - from < shortest)
            continue;
        struct energy_amount amount = energy_between(energy, from, to);
        struct meter_sums *sums =
            sums_of(results, index, function, &session_block(session, interval->block)->thread);
        sums->noted += to - from;
        sums->energy.joules += amount.joules;
        sums->energy.error += amount.error;
    }
}

/* If the calls that are too short for an energy of their own take only a small part of the time, they are assumed to
 * have the mean power of the others. */
static void settle_energy(struct meter_results *results, struct meter_sums *sums)
{
    const double part = 0.95;
    double all = (double)sums->record.inclusive * results->tick;
    sums->has_energy = sums->noted > 0 && sums->noted >= part * all;
    results->energy = results->energy || sums->has_energy;
    if (sums->has_energy && sums->noted < all) {
        double missing = sums->energy.joules * (all / sums->noted - 1);
        sums->energy.joules += missing;
        sums->energy.error += missing;
    }
}

int meter_results_check_energy(const struct meter_results *results, const struct planner *planner,
                               const struct energy *energy, struct error *err)
{
    uint32_t functions;
    const struct meter_function *all = planner_functions(planner, &functions);
    const struct meter_sums *longest = NULL;
    double period = (double)energy_period(energy) * 1e-6, mean = 0;
    int without = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct meter_sums *sums = &results->items[i];
        if (sums->record.returned == 0 || sums->has_energy || all[sums->function].entries_only)
            continue;
        double ms =
            (double)sums->record.total * results->tick * 1e-6 / (double)sums->record.returned;
        without++;
        if (longest == NULL || ms > mean) {
            longest = sums;
            mean = ms;
        }
    }
    if (results->energy)
        return without;
    char *name = energy_name(energy);
    if (longest == NULL)
        error_set(err, NULL, NO_OFFSET, "no call has returned, so no energy is known");
    else
        error_set(
            err, NULL, NO_OFFSET,
            "%s has a new value every %.3g ms, but calls of '%s' take %.3g ms: energy is known "
            "only for calls of %.3g ms or more (leave out -p)",
            name, period, all[longest->function].readable, mean, ENERGY_PERIODS * period);
    free(name);
    return -1;
}

/* Adds the functions counted by PROBES. */
static void add_probed(struct meter_results *results, const struct probes *probes,
                       const struct planner *planner)
{
    uint32_t functions;
    const struct meter_function *all = planner_functions(planner, &functions);
    for (uint32_t i = 1; i < functions; i++) {
        struct meter_sums sums = {.function = i};
        if (all[i].probed)
            probes_read(probes, i, &sums.record.calls, &sums.record.returned);
        if (sums.record.calls == 0 && sums.record.returned == 0)
            continue;
        if (results->timing)
            sums.record.untimed = sums.record.calls;
        mem_reserve(&results->items, &results->capacity, results->count + 1,
                    sizeof *results->items);
        results->items[results->count++] = sums;
    }
}

static void sort_results(struct meter_results *results)
{
    if (results->count > 0)
        qsort(results->items, results->count, sizeof *results->items, compare_by_cost);
}

void meter_results_read(struct meter_results *results, const struct session *session,
                        const struct planner *planner, const struct energy *energy,
                        const struct probes *probes, bool per_thread)
{
    uint32_t functions;
    struct numbers index = {0};
    planner_functions(planner, &functions);
    *results = (struct meter_results){.tick = session_tick(session),
                                      .timing = session_header(session)->timing,
                                      .per_thread = per_thread};
    for (uint32_t b = 0; b < session_block_count(session); b++) {
        const struct meter_block *block = session_block(session, b);
        for (uint32_t i = 1; (i = session_next_record(session, b, i)) < functions; i++) {
            const struct meter_record *record = &block->records[i];
            if (record->calls == 0 && record->returned == 0)
                continue;
            struct meter_sums *sums = sums_of(results, &index, i, &block->thread);
            add_record(sums, record);
            add_histogram(sums, session_histogram(session, record));
        }
    }
    if (energy != NULL)
        add_energy(results, &index, functions, session, energy);
    numbers_free(&index);
    for (size_t i = 0; i < results->count; i++) {
        limit_self(&results->items[i]);
        settle_energy(results, &results->items[i]);
    }
    if (probes != NULL)
        add_probed(results, probes, planner);
    sort_results(results);
}

void meter_results_read_probes(struct meter_results *results, const struct probes *probes,
                               const struct planner *planner)
{
    *results = (struct meter_results){.tick = 1, .returns = probes_returns(probes)};
    add_probed(results, probes, planner);
    sort_results(results);
}

void meter_results_free(struct meter_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        free(results->items[i].histogram);
    free(results->items);
}

/* Returns the time [ns] below which SHARE of the calls that returned are, limited to least and
 * most. */
static struct table_cell quantile(const struct meter_results *results,
                                  const struct meter_sums *sums, double share)
{
    if (sums->histogram == NULL)
        return (struct table_cell){0};
    double ns = log_quantile(sums->histogram, share);
    double least = (double)sums->record.least * results->tick,
           most = (double)sums->record.most * results->tick;
    return cell_real(ns < least ? least : ns > most ? most : ns);
}

enum {
    CALLS,
    RETURNED,
    UNWOUND,
    INSIDE,
    UNTIMED,
    INCLUSIVE,
    SELF,
    MEAN,
    MIN,
    MEDIAN,
    P90,
    P99,
    MAX,
    ENERGY,
    ERROR,
    PROCESS,
    THREAD,
    PROGRAM,
    COMM,
    LIBRARY,
    FUNCTION,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [CALLS] = TABLE_COLUMN("calls", "", false),
    [RETURNED] = {.name = "returned", .unit = "", .only_wide = true},
    [UNWOUND] = {.name = "unwound", .unit = "", .rank = 2},
    [INSIDE] = {.name = "inside", .unit = "", .rank = 2},
    [UNTIMED] = {.name = "untimed", .unit = "", .only_wide = true},
    [INCLUSIVE] = TABLE_COLUMN("inclusive", "s", false),
    [SELF] = TABLE_COLUMN("self", "s", false),
    [MEAN] = TABLE_COLUMN("mean", "ns", false),
    [MIN] = {.name = "min", .unit = "ns", .rank = 4},
    [MEDIAN] = {.name = "p50", .unit = "ns", .rank = 1},
    [P90] = {.name = "p90", .unit = "ns", .rank = 5},
    [P99] = {.name = "p99", .unit = "ns", .rank = 3},
    [MAX] = {.name = "max", .unit = "ns", .rank = 1},
    [ENERGY] = TABLE_COLUMN("inclusive_energy", "J", false),
    [ERROR] = TABLE_COLUMN("energy_error", "J", false),
    [PROCESS] = TABLE_COLUMN("process", "", false),
    [THREAD] = TABLE_COLUMN("thread", "", false),
    [PROGRAM] = {.name = "program", .unit = "", .is_text = true, .rank = 6},
    [COMM] = {.name = "comm", .unit = "", .is_text = true, .rank = 6},
    [LIBRARY] = TABLE_COLUMN("library", "", true),
    [FUNCTION] = TABLE_COLUMN("function", "", true),
};

static void fill_times(const struct meter_results *results, const struct meter_sums *sums,
                       struct table_cell cells[COLUMNS])
{
    const struct meter_record *r = &sums->record;
    double tick = results->tick;
    if (r->returned + r->unwound == 0)
        return; /* all calls are still inside: their times are unknown */
    cells[INCLUSIVE] = cell_real((double)r->inclusive * tick / 1e9);
    cells[SELF] = cell_real((double)r->self * tick / 1e9);
    if (sums->has_energy) {
        cells[ENERGY] = cell_real(sums->energy.joules);
        cells[ERROR] = cell_real(sums->energy.error);
    }
    if (r->returned == 0)
        return;
    cells[MEAN] = cell_real((double)r->total * tick / (double)r->returned);
    cells[MIN] = cell_real((double)r->least * tick);
    cells[MEDIAN] = quantile(results, sums, 0.5);
    cells[P90] = quantile(results, sums, 0.9);
    cells[P99] = quantile(results, sums, 0.99);
    cells[MAX] = cell_real((double)r->most * tick);
}

static void fill(const struct meter_results *results, const struct meter_sums *sums,
                 const struct meter_function *function, struct table_cell cells[COLUMNS])
{
    cells[CALLS] = cell_count(sums->record.calls);
    cells[RETURNED] = cell_count(sums->record.returned);
    cells[UNWOUND] = cell_count(sums->record.unwound);
    cells[INSIDE] = cell_count(sums->inside);
    cells[UNTIMED] = cell_count(sums->record.untimed);
    if (results->timing && !function->entries_only)
        fill_times(results, sums, cells);
    cells[PROCESS] = cell_count(sums->process);
    cells[THREAD] = cell_count(sums->thread);
    cells[PROGRAM] = cell_text(sums->program != NULL ? sums->program : "");
    cells[COMM] = cell_text(sums->thread_name != NULL ? sums->thread_name : "");
    cells[LIBRARY] = cell_text(function->library);
    cells[FUNCTION] = cell_text(function->readable);
}

/* Determines which columns these results have. Returns their number. */
static size_t choose_columns(const struct meter_results *results, size_t chosen[COLUMNS])
{
    size_t count = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        bool of_time = i > CALLS && i < PROCESS, of_thread = i >= PROCESS && i < LIBRARY;
        bool of_energy = i == ENERGY || i == ERROR, counted = i == RETURNED && results->returns;
        if ((!of_time || counted || results->timing) && (!of_thread || results->per_thread) &&
            (!of_energy || results->energy))
            chosen[count++] = i;
    }
    return count;
}

void meter_results_write(const struct meter_results *results, const struct planner *planner,
                         const struct table_format *format, struct output *out)
{
    uint32_t functions;
    const struct meter_function *all = planner_functions(planner, &functions);
    size_t chosen[COLUMNS];
    struct table_column shown[COLUMNS];
    size_t count = choose_columns(results, chosen);
    for (size_t i = 0; i < count; i++)
        shown[i] = columns[chosen[i]];
    if (results->returns)
        shown[1].only_wide = false;
    const struct table_head head = {.columns = shown, .column_count = count};
    struct table *table = table_open(format, out, &head);
    for (size_t i = 0; i < results->count; i++) {
        struct table_cell cells[COLUMNS] = {0}, row[COLUMNS];
        const struct meter_sums *sums = &results->items[i];
        fill(results, sums, &all[sums->function], cells);
        for (size_t k = 0; k < count; k++)
            row[k] = cells[chosen[k]];
        table_row(table, row);
    }
    table_close(table);
}
