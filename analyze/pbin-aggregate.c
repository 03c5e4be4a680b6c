/* pbin-aggregate: pbin in, one row per function (or other keys) out, with time and energy.
 *
 *   pbin-aggregate run.pbin          time [s]  share [%]  ...  energy [J]  binary  function
 *                                      1.0012      50.06  ...      20.024  burn    burn_50
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyze/aggregate_options.h"

/* The format that was named, else that of the suffix, else text. */
static const char *choose_format(const struct tool_options *o)
{
    static const char *const suffixes[] = {".csv", ".json", ".jsonl", ".pbin"};
    if (o->format != NULL)
        return o->format;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (path_has_suffix(o->output, suffixes[i]))
            return suffixes[i] + 1;
    return "text";
}

static int write_result(const struct aggregate *aggregate, struct tool_options *o,
                        struct error *err)
{
    const char *format = choose_format(o);
    bool binary = strcmp(format, "pbin") == 0;
    unsigned flags = (binary ? OUTPUT_BINARY : 0) | (o->bzip2 ? OUTPUT_BZIP2 : 0);
    struct output *out = output_open(o->output, flags, err);
    if (out == NULL)
        return -1;
    o->report.color = tool_color(&o->common) && o->output == NULL;
    if (binary)
        aggregate_write(aggregate, out, "pbin-aggregate " PBIN_TOOLS_VERSION);
    else
        report_rows(aggregate, &o->report, table_format_find(format), out);
    return output_commit(out);
}

const char *argp_program_version = "pbin-aggregate (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct tool_options o = {0};
    struct error err = {0};
    tool_start(&o.common, "pbin-aggregate");
    parse_keys(&o.aggregate, "binary,function", NULL);
    tool_parse(&aggregate_argp, argc, argv, &o);
    o.aggregate.selection = o.selects ? &o.selection : NULL;
    struct aggregate *aggregate = aggregate_new(&o.aggregate);
    int result = inputs_complete(&o.inputs, &err);
    if (result == 0)
        result = inputs_aggregate(&o.inputs, aggregate, &o.common.reporter, &err);
    if (result == 0)
        result = write_result(aggregate, &o, &err);
    aggregate_delete(aggregate);
    selection_free(&o.selection);
    inputs_free(&o.inputs);
    return tool_end(&o.common, result, &err);
}
