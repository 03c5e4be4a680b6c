/* The columns and facts of a table of rows, and the cells of a row.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/row_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/attribute/words.h"

/* The ranks of columns: the order in which narrow tables leave them out. */
enum {
    RANK_COUNTS = 90,
    RANK_ENTRIES,
    RANK_LIKE = 80,
    RANK_POWER = 60,
    RANK_ENERGY_SHARE = 70,
    RANK_SHARE = 50,
    RANK_OTHER = 40 /* time or energy, unless it sorts the table */
};

static struct table_column *add_column(struct row_view *v, const char *name, const char *unit,
                                       unsigned char rank)
{
    v->columns[v->column_count] = (struct table_column){.name = name, .unit = unit, .rank = rank};
    return &v->columns[v->column_count++];
}

/* Adds a column that only wide tables show, or that follows the values of column OF. */
static void add_detail(struct row_view *v, const char *name, const char *unit, size_t of)
{
    if (of > 0)
        v->columns[of].interval = v->column_count;
    add_column(v, name, unit, 0)->only_wide = true;
}

static void name_columns(struct row_view *v)
{
    if (v->report->tree) {
        add_column(v, "depth", "", RANK_ENTRIES);
        add_column(v, "tree", "", 0)->is_text = true;
    } else {
        for (size_t i = 0; i < v->keys->count; i++)
            add_column(v, pbin_key_get((size_t)v->keys->key[i])->name, "", 0)->is_text = true;
    }
    v->name_count = v->column_count;
}

/* Returns whether time and energy have the intervals of their shares. Several runs show directly
 * how much they vary. */
static bool has_sampling_intervals(const struct row_view *v)
{
    return v->report->intervals && v->runs < 2;
}

/* Adds the columns of the spread. TIME_AT and ENERGY_AT are the columns of the means. */
static void spread_columns(struct row_view *v, const char *unit, size_t time_at, size_t energy_at)
{
    static const char *const time[] = {"time_sd", "time_min", "time_max", "time_ci95"};
    static const char *const energy[] = {"energy_sd", "energy_min", "energy_max", "energy_ci95"};
    if (v->runs < 2)
        return;
    for (size_t i = 0; i < 4; i++)
        add_detail(v, time[i], v->report->fractions ? "" : "s", i == 3 ? time_at : 0);
    for (size_t i = 0; i < 4; i++)
        add_detail(v, energy[i], unit, i == 3 && !v->fitted ? energy_at : 0);
    add_detail(v, "runs", "", 0);
}

/* Returns whether a column is empty. In profiles that contain only calls, such columns are shown
 * only in wide tables. */
static bool is_empty(const struct row_view *v, const char *name, bool is_time)
{
    if (is_time || strcmp(name, "share") == 0)
        return v->total.time == 0;
    return strcmp(name, "samples") == 0 || strcmp(name, "entries") == 0 || !v->has_quantity;
}

static void add_measures(struct row_view *v, size_t time_at)
{
    size_t end = v->column_count;
    measure_view_init(&v->measures, v->aggregate, v->columns, v->column_count);
    v->measures_at = v->column_count;
    for (size_t i = 0; i < v->measures.count; i++)
        v->columns[v->column_count++] = v->measures.shown[i].column;
    for (size_t i = time_at; i < end && v->calls_only; i++)
        v->columns[i].only_wide |= is_empty(v, v->columns[i].name, i == time_at);
}

static void make_columns(struct row_view *v)
{
    const struct quantity *q = &v->quantity;
    const char *what = q->name, *unit = v->report->fractions ? "" : q->unit;
    bool by_energy = v->sort == METRIC_ENERGY || v->sort == METRIC_POWER;
    snprintf(v->share_name[0], sizeof v->share_name[0], "%s_share", what);
    snprintf(v->share_name[1], sizeof v->share_name[1], "%s_share_ci_approx", what);
    snprintf(v->share_name[2], sizeof v->share_name[2], "%s_ci_approx", what);
    name_columns(v);
    size_t time_at = v->column_count;
    bool sampled = has_sampling_intervals(v);
    add_column(v, "time", v->report->fractions ? "" : "s", by_energy ? RANK_OTHER : 0);
    if (sampled)
        add_detail(v, "time_ci_approx", v->report->fractions ? "" : "s", time_at);
    add_column(v, "share", "%", RANK_SHARE);
    if (v->report->intervals)
        add_detail(v, "share_ci_approx", "%", v->column_count - 1);
    add_column(v, "samples", "", RANK_COUNTS);
    add_column(v, "entries", "", RANK_ENTRIES);
    v->power_at = v->column_count;
    add_column(v, q->rate_name, q->rate_unit, v->sort == METRIC_POWER ? 0 : RANK_POWER);
    size_t energy_at = v->column_count;
    add_column(v, what, unit, by_energy ? 0 : RANK_OTHER);
    if (sampled && !v->fitted)
        add_detail(v, v->share_name[2], unit, energy_at);
    if (v->report->static_energy != NULL) {
        add_column(v, "static", unit, RANK_ENERGY_SHARE);
        add_column(v, "dynamic", unit, RANK_POWER);
    }
    add_column(v, v->share_name[0], "%", RANK_ENERGY_SHARE);
    if (v->report->intervals) {
        add_detail(v, v->share_name[1], "%", v->column_count - 1);
        v->share_interval_at = v->column_count - 1;
    }
    spread_columns(v, unit, time_at, energy_at);
    add_measures(v, time_at);
    if (v->fitted) {
        add_detail(v, "fit_ci95", unit, energy_at);
        add_column(v, "not_resolvable_from", "", RANK_LIKE)->is_text = true;
    }
}

/* Makes the whole exactly 100 %; 100 * x / x may differ. */
static double percent(double part, double whole)
{
    double share = part == whole ? 100 : 100 * part / whole;
    return whole != 0 ? share : NAN;
}

/* Half of the 95 % interval of the energy of a row [J]. Sampling affects only how the energy in
 * code is divided; the energy in code, and that in _idle and similar rows, is measured. */
static double energy_interval(const struct row_view *v, const struct sampled_code *code,
                              const struct row_values *values)
{
    bool all = values->energy == v->total_values.energy && code->energy == v->shown.energy;
    if (!v->has_quantity || (values->samples == 0 && values->energy != 0))
        return NAN;
    return all ? 0 : sampled_energy(code, values);
}

/* Half of the 95 % interval of the share of energy of a row [%]. That of a fitted row follows from
 * its energy: see row_view_fitted. */
static double share_interval(const struct row_view *v, const struct row_values *values)
{
    double half = 100 * energy_interval(v, &v->shown, values) / fabs(v->total_values.energy);
    return v->fitted && half != 0 ? NAN : half;
}

static size_t spread_cells(const struct row_view *v, const struct pbin_sums *sums, bool spread,
                           struct table_cell *cell)
{
    struct row_spread s;
    if (v->runs < 2)
        return 0;
    row_spread_of(sums, v->runs, &s);
    const double all[8] = {s.time_sd,   s.time_min,   s.time_max,   s.time_ci,
                           s.energy_sd, s.energy_min, s.energy_max, s.energy_ci};
    bool energies = v->has_quantity && !v->fitted;
    for (size_t i = 0; i < 8; i++)
        cell[i] = cell_real(spread && (i < 4 || energies)
                                ? all[i] * (i < 4 ? v->time_scale : v->energy_scale)
                                : NAN);
    cell[8] = spread ? cell_count(sums->runs) : (struct table_cell){0};
    return 9;
}

exact row_view_static(const struct row_view *v, const struct pbin_row *row)
{
    const exact *all = v->report->static_energy;
    return all != NULL ? all[row - aggregate_row(v->aggregate, 0)] : 0;
}

static struct table_cell joules(const struct row_view *v, exact energy)
{
    uint64_t n = v->runs > 0 ? v->runs : 1;
    return cell_real(exact_to_double(energy, ENERGY_SHIFT, n) * v->energy_scale);
}

void row_view_values(const struct row_view *v, const struct pbin_sums *sums, exact fixed,
                     bool spread, struct table_cell *cells)
{
    struct row_values values;
    size_t n = v->name_count;
    row_values_of(sums, v->runs, &values);
    double share = percent(values.time, v->total_values.time);
    double energy_share = v->has_quantity ? percent(values.energy, v->total_values.energy) : NAN;
    bool fractions = v->report->fractions, sampled = has_sampling_intervals(v);
    double time_half = sampled_time(&v->code, values.time, values.entries),
           energy_half = energy_interval(v, &v->code, &values);
    cells[n++] = cell_real(values.time * v->time_scale);
    if (sampled)
        cells[n++] = cell_real(time_half * v->time_scale);
    cells[n++] = cell_real(share);
    if (v->report->intervals)
        cells[n++] = cell_real(100 * sampled_time(&v->shown, values.time, values.entries) /
                               v->total_values.time);
    /* means over runs, and parts of a bin of a histogram, are not whole numbers */
    cells[n++] = fractions ? cell_real(values.samples / v->total_values.samples)
                           : cell_whole(values.samples);
    cells[n++] = isnan(values.entries) ? (struct table_cell){0}
                 : fractions           ? cell_real(values.entries / v->total_values.entries)
                                       : cell_whole(values.entries);
    cells[n++] = cell_real(v->has_quantity ? values.power : NAN);
    cells[n++] = cell_real(v->has_quantity ? values.energy * v->energy_scale : NAN);
    if (sampled && !v->fitted)
        cells[n++] = cell_real(energy_half * v->energy_scale);
    if (v->report->static_energy != NULL) {
        cells[n++] = joules(v, fixed);
        cells[n++] = joules(v, sums->energy - fixed);
    }
    cells[n++] = cell_real(energy_share);
    if (v->report->intervals)
        cells[n++] = cell_real(share_interval(v, &values));
    spread_cells(v, sums, spread, cells + n);
    for (size_t i = 1; i <= 2 && v->fitted; i++)
        cells[v->column_count - i] = (struct table_cell){0};
}

void row_view_fitted(const struct row_view *v, const struct pbin_row *row, struct table_cell *cells)
{
    if (!v->fitted)
        return;
    const struct fitted *fitted =
        aggregate_fitted(v->aggregate, (size_t)(row - aggregate_row(v->aggregate, 0)));
    double half = fitted->interval / (double)(v->runs > 0 ? v->runs : 1);
    cells[v->column_count - 2] = cell_real(v->energy_scale * half);
    if (v->report->intervals) /* the total is measured */
        cells[v->share_interval_at] = cell_real(100 * half / fabs(v->total_values.energy));
    if (fitted->like != NULL)
        cells[v->column_count - 1] = cell_text(fitted->like);
}

struct table_cell row_view_key(const struct row_view *v, const struct pbin_row *row, size_t i)
{
    const struct pbin_key *key = pbin_key_get((size_t)v->keys->key[i]);
    if (key->is_text)
        return cell_text(aggregate_text(v->aggregate, row->key[i]));
    if (label_of_number(row->key[i]) != NULL)
        return cell_text(label_of_number(row->key[i]));
    if (row->key[i] == 0 && !key->has_zero)
        return (struct table_cell){0};
    return strcmp(key->name, "pc") == 0 ? cell_hex(row->key[i]) : cell_count(row->key[i]);
}

bool row_view_shows(const struct row_view *v, const struct pbin_row *row)
{
    return row->sums.runs > 0 && !aggregate_is_excluded(v->aggregate, row);
}

double row_view_metric(const struct row_view *v, const struct pbin_sums *sums,
                       const struct pbin_row *row, size_t size)
{
    struct row_values values;
    row_values_of(sums, v->runs, &values);
    if (v->sort == METRIC_CALLS || v->sort == METRIC_INCLUSIVE)
        row_values_measured(&values, v->aggregate, (size_t)(row - aggregate_row(v->aggregate, 0)),
                            size);
    double value = row_value(&values, v->sort);
    return isnan(value) ? -INFINITY : value;
}

double row_view_share(const struct row_view *v, const struct pbin_sums *sums)
{
    struct row_values values;
    row_values_of(sums, v->runs, &values);
    double share = v->sort == METRIC_ENERGY ? percent(values.energy, v->total_values.energy)
                                            : percent(values.time, v->total_values.time);
    return isnan(share) ? 0 : share;
}

static struct table_cell text_or_missing(const char *text)
{
    return text != NULL ? cell_text(text) : (struct table_cell){0};
}

static struct table_cell positive(double value)
{
    return cell_real(value > 0 ? value : NAN);
}

static void add_fact(struct row_view *v, const char *name, const char *title, const char *unit,
                     struct table_cell cell)
{
    v->facts[v->fact_count++] = (struct table_fact){name, title, unit, cell};
}

/* The measured energy: before filters, and including energy that the model assigns to no row. */
static double measured_energy(const struct row_view *v)
{
    exact lost = v->excluded.runs > 0 ? 0 : aggregate_unattributed(v->aggregate);
    if (lost == 0)
        return v->total_values.energy;
    return exact_to_double(v->total.energy + lost, ENERGY_SHIFT, v->runs > 0 ? v->runs : 1);
}

static void quantity_facts(struct row_view *v, double wall)
{
    const struct quantity *q = &v->quantity;
    bool is_energy = strcmp(q->name, "energy") == 0;
    double energy = v->has_quantity ? measured_energy(v) : NAN;
    v->power = wall > 0 ? energy / wall : NAN;
    add_fact(v, is_energy ? "energy_J" : q->name, q->name, q->unit, cell_real(energy));
    add_fact(v, is_energy ? "power_W" : q->rate_name, q->rate_name, q->rate_unit,
             cell_real(v->power));
}

static void source_facts(struct row_view *v, const struct pbin_meta *meta)
{
    const struct attribution_options *o = &aggregate_options_of(v->aggregate)->rows;
    if (meta->value != NULL)
        add_fact(v, "value", "measured by", "", cell_text(meta->value));
    if (meta->scope != NULL)
        add_fact(v, "scope", "scope", "", cell_text(meta->scope));
    if ((o->given & 1U << OPTION_LAG) != 0)
        add_fact(v, "sensor_lag_s", "lag of the sensor", "s", cell_real(o->weigh.lag));
}

/* Adds a fact for part P of the quantity, "energy_idle_J" or "charge_idle". */
static void part_fact(struct row_view *v, size_t p, const char *name, const char *title,
                      double value)
{
    const struct quantity *q = &v->quantity;
    snprintf(v->part_name[p], sizeof v->part_name[p], "%s_%s%s", q->name, name,
             strcmp(q->name, "energy") == 0 ? "_J" : "");
    add_fact(v, v->part_name[p], title, q->unit, cell_real(value));
}

/* The balance: measured = rows + idle + gaps + residual of least squares + energy in no row. */
static void balance_facts(struct row_view *v)
{
    static const struct {
        const char *label, *name, *title;
    } parts[] = {{LABEL_IDLE, "idle", "  idle"},
                 {LABEL_OTHERS, "others", "  in other programs"},
                 {LABEL_GAP, "gap", "  in gaps"},
                 {LABEL_RESIDUAL, "residual", "  left over"}};
    enum { PARTS = VIEW_PARTS - 2 };
    exact sum[PARTS] = {0}, code = v->total.energy, lost = aggregate_unattributed(v->aggregate);
    bool any = lost != 0;
    uint64_t n = v->runs > 0 ? v->runs : 1;
    for (size_t r = 0; r < aggregate_row_count(v->aggregate); r++)
        for (size_t p = 0; p < PARTS; p++)
            if (aggregate_has_label(v->aggregate, aggregate_row(v->aggregate, r), parts[p].label))
                sum[p] += aggregate_row(v->aggregate, r)->sums.energy;
    for (size_t p = 0; p < PARTS; p++) {
        any |= sum[p] != 0;
        code -= sum[p];
    }
    if (!any || !v->has_quantity)
        return;
    part_fact(v, PARTS, "code", "  in code", exact_to_double(code, ENERGY_SHIFT, n));
    for (size_t p = 0; p < PARTS; p++)
        if (sum[p] != 0)
            part_fact(v, p, parts[p].name, parts[p].title,
                      exact_to_double(sum[p], ENERGY_SHIFT, n));
    if (lost != 0)
        part_fact(v, PARTS + 1, "unattributed", "  in no row",
                  exact_to_double(lost, ENERGY_SHIFT, n));
}

static void excluded_facts(struct row_view *v)
{
    struct row_values excluded;
    const struct selection *s = aggregate_options_of(v->aggregate)->rows.selection;
    bool filters = s != NULL && (s->filter_count > 0 || s->exclude_external);
    if (!filters && v->excluded.runs == 0) /* an aggregated profile may already be filtered */
        return;
    row_values_of(&v->excluded, v->runs, &excluded);
    add_fact(v, "excluded_time_s", "time left out", "s", cell_real(excluded.time));
    const struct quantity *q = &v->quantity;
    snprintf(v->excluded_name[0], sizeof v->excluded_name[0], "excluded_%s%s", q->name,
             strcmp(q->name, "energy") == 0 ? "_J" : "");
    snprintf(v->excluded_name[1], sizeof v->excluded_name[1], "%s left out", q->name);
    add_fact(v, v->excluded_name[0], v->excluded_name[1], q->unit,
             cell_real(v->has_quantity ? excluded.energy : NAN));
}

static void make_facts(struct row_view *v)
{
    const struct pbin_meta *meta = aggregate_meta(v->aggregate);
    double n = (double)(v->runs > 0 ? v->runs : 1);
    double wall = (double)meta->wall_ns / 1e9 / n, samples = (double)meta->samples / n;
    add_fact(v, "name", "profile", "", text_or_missing(meta->name));
    add_fact(v, "target", "target", "", text_or_missing(meta->target));
    add_fact(v, "command", "command", "", text_or_missing(meta->command));
    add_fact(v, "dialect", "recorded as", "", text_or_missing(meta->dialect));
    add_fact(v, "runs", "runs", "", cell_count(v->runs));
    add_fact(v, "wall_s", "wall time", "s", positive(wall));
    bool by_wall = attribution_is_wall(meta->attribution);
    const char *time = v->calls_only ? "time of calls" : by_wall ? "time of threads" : "CPU time";
    add_fact(v, "time_s", time, "s",
             cell_real(v->calls_only && v->total.time == 0 ? NAN : v->total_values.time));
    if (!v->calls_only) {
        add_fact(v, "samples", "samples", "", cell_whole(samples));
        add_fact(v, "thread_samples", "thread samples", "", cell_whole(v->total_values.samples));
        add_fact(v, "frequency_hz", "sampling frequency", "Hz",
                 positive(wall > 0 ? samples / wall : 0));
        add_fact(v, "latency_s", "time in the sampler", "s",
                 positive((double)meta->latency_ns / 1e9 / n));
    }
    quantity_facts(v, wall);
    source_facts(v, meta);
    balance_facts(v);
    excluded_facts(v);
}

/* The spread of the total is that of the runs. With filters, only its sums are known. */
static void spread_of_total(struct row_view *v)
{
    if (v->excluded.runs > 0 || v->runs < 2)
        return;
    struct pbin_sums runs = {0};
    for (size_t i = 0; i < v->runs; i++) {
        const struct pbin_run *run = aggregate_run(v->aggregate, i);
        struct pbin_sums one = pbin_sums_of_run(0, 0, run->time, run->energy);
        pbin_sums_merge(&runs, &one);
    }
    runs.samples = v->total.samples;
    runs.entries = v->total.entries;
    v->total = runs;
}

void row_view_init(struct row_view *v, const struct aggregate *aggregate,
                   const struct report_options *report)
{
    memset(v, 0, sizeof *v);
    v->aggregate = aggregate;
    v->keys = aggregate_keys(aggregate);
    v->report = report;
    v->runs = aggregate_run_count(aggregate);
    v->quantity = *aggregate_quantity(aggregate);
    v->has_quantity = v->quantity.name != NULL;
    if (!v->has_quantity)
        v->quantity = (struct quantity){"energy", "J", "power", "W", .scale = 1};
    v->fitted = aggregate_row_count(aggregate) > 0 && aggregate_fitted(aggregate, 0) != NULL;
    for (size_t i = 0; i < aggregate_row_count(aggregate); i++) {
        const struct pbin_row *row = aggregate_row(aggregate, i);
        struct pbin_sums *sum = row_view_shows(v, row) ? &v->total : &v->excluded;
        row_sums_join(sum, &row->sums);
        v->total_static += row_view_shows(v, row) ? row_view_static(v, row) : 0;
        sum->runs += row->sums.runs > 0;
    }
    spread_of_total(v);
    row_values_of(&v->total, v->runs, &v->total_values);
    sampled_code_of(&v->code, aggregate, false);
    sampled_code_of(&v->shown, aggregate, true);
    v->calls_only =
        v->total.samples == 0 && aggregate_measure(aggregate, "calls") >= 0 && v->total.runs > 0;
    v->sort = report->sort == METRIC_TIME && v->calls_only && v->total.time == 0 ? METRIC_CALLS
                                                                                 : report->sort;
    v->time_scale = report->fractions ? 1 / v->total_values.time : 1;
    v->energy_scale = report->fractions ? 1 / v->total_values.energy : 1;
    make_columns(v);
    make_facts(v);
}
