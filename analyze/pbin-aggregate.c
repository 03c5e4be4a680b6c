/* pbin-aggregate: pbin in, one row per function (or other keys) out, with time and energy.
 *
 *   pbin-aggregate run.pbin          time [s]  share [%]  ...  energy [J]  binary  function
 *                                      1.0012      50.06  ...      20.024  burn    burn_50
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate_options.h"

/* The format that was named, else that of the suffix, else text; NULL: pbin. */
static const struct table_format *choose_format(const struct tool_options *o)
{
    if (o->format != NULL)
        return table_format_find(o->format);
    if (path_has_suffix(o->output, ".pbin"))
        return NULL;
    const struct table_format *format = table_format_of_path(o->output);
    return format != NULL ? format : &table_text;
}

static int write_result(const struct aggregate *aggregate, struct tool_options *o,
                        struct error *err)
{
    const struct table_format *format = choose_format(o);
    unsigned flags = (format == NULL ? OUTPUT_BINARY : 0) | (o->bzip2 ? OUTPUT_BZIP2 : 0);
    struct output *out = output_open(o->output, flags, err);
    if (out == NULL)
        return -1;
    o->report.color = tool_color(&o->common) && o->output == NULL;
    if (format == NULL)
        aggregate_write(aggregate, out, "pbin-aggregate " PBIN_TOOLS_VERSION);
    else
        report_rows(aggregate, &o->report, format, out);
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
