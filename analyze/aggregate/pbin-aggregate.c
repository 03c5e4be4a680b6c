/* pbin-aggregate: reads pbin and writes a row for each function (or for other keys) with its time
 * and energy.
 *
 *   pbin-aggregate run.pbin          time [s]  share [%]  ...  energy [J]  binary  function
 *                                      1.0012      50.06  ...      20.024  burn    burn_50
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "analyze/aggregate/aggregate_options.h"
#include "analyze/aggregate/sensor_lag.h"
#include "analyze/aggregate/static_energy.h"
#include "base/memory.h"

/* The names of the formats of tables, then pbin. */
static const char *format_name(size_t number)
{
    if (table_format_name(number) != NULL)
        return table_format_name(number);
    return number == 0 || table_format_name(number - 1) != NULL ? "pbin" : NULL;
}

/* The format given by --format, otherwise by the suffix of the output, otherwise text. NULL:
 * pbin. */
static const struct table_format *choose_format(const struct aggregate_command *o)
{
    if (o->common.format == NULL && path_has_suffix(o->common.output, ".pbin"))
        return NULL;
    return table_format_choose(o->common.format, o->common.output, &table_text);
}

/* Energies have no intervals if these would not contain the true values. Otherwise, intervals
 * include the energy that moves between rows that share a window, because a window is divided as if
 * its power were constant. */
static void note_mixing(const struct aggregate *a, struct aggregate_command *o)
{
    /* from simulations: if two rows alternate, the one with half of the power gets too much, by a
     * third of its energy in a window */
    double stay = aggregate_stay(a), moved = 1 / (3 * stay), least = 0.01, most = 0.5;
    struct sampled_code code;
    if (!o->report.intervals || o->aggregate.rows.fit)
        return;
    sampled_code_of(&code, a, false);
    if (code.obstacle != NULL && code.energy != 0)
        report_warning(&o->common.reporter,
                       "energies have no intervals: %s; --energy-model=fit computes some",
                       code.obstacle);
    if (!(moved >= least))
        return;
    report_warning(
        &o->common.reporter,
        "rows run for %.2g updates of the sensor at a time, on average: too much energy goes to "
        "rows "
        "with less power than others (about %.0f %% of theirs, if others have twice the power); "
        "--energy-model=fit avoids this",
        stay, 100 * (moved < most ? moved : most));
}

/* Explains a table without rows. */
static void note_empty(const struct aggregate *a, struct aggregate_command *o)
{
    exact samples = 0, time = 0;
    for (size_t i = 0; i < aggregate_row_count(a); i++) {
        const struct pbin_row *row = aggregate_row(a, i);
        if (row->sums.runs == 0 || aggregate_is_excluded(a, row))
            continue;
        samples += row->sums.samples;
        time += row->sums.time;
    }
    bool warned = o->selection.phase != NULL; /* a phase that never occurs has its own warning */
    if (!o->selects || warned || samples != 0 || time != 0)
        return;
    if (o->selection.exclude_external)
        report_warning(&o->common.reporter,
                       "nothing is selected: no sample is in the target binary, '%s', with these "
                       "options",
                       aggregate_meta(a)->target != NULL ? aggregate_meta(a)->target : "");
    else
        report_warning(&o->common.reporter,
                       "nothing is selected: no sample matches these times, phases and keys");
}

static int find_statics(const struct aggregate *a, struct aggregate_command *o, struct error *err)
{
    o->static_energy = mem_zalloc(aggregate_row_count(a) + 1, sizeof *o->static_energy);
    o->report.static_energy = o->static_energy;
    return static_energies(a, o->watts, o->static_energy, err);
}

static int write_result(struct aggregate *aggregate, struct aggregate_command *o, struct error *err)
{
    const struct table_format *format = choose_format(o);
    if (format != NULL && o->aggregate.rows.fit && aggregate_fit(aggregate, err) != 0)
        return -1;
    if (format != NULL && o->statics && find_statics(aggregate, o, err) != 0)
        return -1;
    struct output *out = tool_output(&o->common, format == NULL ? OUTPUT_BINARY : 0, err);
    if (out == NULL)
        return -1;
    o->report.color = tool_color(&o->common);
    o->report.style = tool_style(&o->common);
    if (format == NULL)
        aggregate_write(aggregate, out, "pbin-aggregate " PBIN_TOOLS_VERSION);
    else
        report_rows(aggregate, &o->report, format, out);
    return output_commit(out);
}

const char *argp_program_version = "pbin-aggregate (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct aggregate_command o = {0};
    struct error err = {0};
    tool_start(&o.common, "pbin-aggregate");
    o.aggregate.rows.keys = pbin_keys_of("binary,function");
    o.common.formats = format_name;
    tool_parse(&aggregate_argp, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_VALUE | TOOL_FORMAT | TOOL_TABLE,
               argc, argv, &o);
    o.inputs.choice = (struct pbin_choice){o.common.salvage, o.common.value};
    o.aggregate.rows.selection = o.selects ? &o.selection : NULL;
    o.aggregate.rows.names = &o.names;
    o.aggregate.has_max_gap = true;
    o.aggregate.rows.code = code_names_new(&o.search, &o.common.reporter);
    /* tables show energies from the fit, but aggregated profiles also contain those of the default
     * model */
    o.aggregate.rows.weigh.undivided = o.aggregate.rows.fit && choose_format(&o) != NULL;
    int result = table_format_check(o.common.format, o.common.output, ".pbin", &err);
    if (result == 0)
        result = inputs_complete(&o.inputs, &err);
    if (result == 0 && o.finds_lag)
        result = sensor_lag_find(&o.inputs, &o.aggregate, &o.common.reporter,
                                 &o.aggregate.rows.weigh.lag, &err);
    o.search.beside = o.inputs.count > 0 ? o.inputs.paths[0] : NULL;
    struct aggregate *aggregate = aggregate_new(&o.aggregate);
    if (result == 0)
        result = inputs_aggregate(&o.inputs, aggregate, &o.common.reporter, &err);
    if (result == 0) {
        note_empty(aggregate, &o);
        note_mixing(aggregate, &o);
        result = write_result(aggregate, &o, &err);
    }
    aggregate_delete(aggregate);
    code_names_delete(o.aggregate.rows.code);
    elf_search_free(&o.search);
    name_rules_free(&o.names);
    selection_free(&o.selection);
    inputs_free(&o.inputs);
    free(o.static_energy);
    return tool_end(&o.common, result, &err);
}
