/* pbin-callgraph: shows which functions called which, how often, and at what cost: the call graph
 * of gprof, from a pbin.
 *
 *   pbin-callgraph run.pbin     index % time   self [s]   children           called      name
 *                               [2]     50.1     0.0510     0.2000              3+2      work [2]
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyze/callgraph/callgraph_view.h"
#include "analyze/aggregate/inputs.h"
#include "base/memory.h"
#include "base/tool.h"

struct options {
    struct tool_common common;
    struct aggregate_options aggregate;
    const char *focus;
    size_t depth;
    const char **inputs;
    size_t input_count, input_capacity;
};

enum { KEY_FOCUS = KEY_TOOL_FIRST, KEY_DEPTH, KEY_COMPLETE };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Contents:", 1},
    {"keys", 'k', "KEYS", EVERYDAY, "A node per binary,function (default), or per function", 1},
    {"focus", KEY_FOCUS, "FUNCTION", EVERYDAY,
     "Show only FUNCTION and its direct and indirect callers and callees", 1},
    {"depth", KEY_DEPTH, "N", EVERYDAY,
     "Show at most N calls away from FUNCTION (without --focus: from functions without callers)",
     1},
    {"wide", KEY_COMPLETE, NULL, 0, "Complete names in text (default: what fits a terminal)", 1},
    {0}};

/* The output formats, by name and by suffix of the file. */
static const struct {
    const char *name, *suffix;
    void (*write)(const struct callgraph_view *view, struct output *out);
} formats[] = {{"text", ".txt", callgraph_text},
               {"json", ".json", callgraph_json},
               {"dot", ".dot", callgraph_dot},
               {"dot", ".gv", callgraph_dot}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static const char *format_name(size_t number)
{
    return number < FORMATS - 1 ? formats[number].name : NULL; /* the last one has two suffixes */
}

static const struct tool_setting settings[] = {
    SET_TEXT(KEY_FOCUS, struct options, focus),
    SET_WHOLE(KEY_DEPTH, struct options, depth, "--depth", 1, UINT32_MAX),
    SET_FLAG(KEY_COMPLETE, struct options, common.table.wide),
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'k':
        if (strcmp(argument, "function") != 0 && strcmp(argument, "binary,function") != 0)
            argp_error(state, "-k must be binary,function or function, not '%s'", argument);
        o->aggregate.rows.keys = pbin_keys_of(argument);
        return 0;
    case ARGP_KEY_ARG:
        tool_append(&o->inputs, &o->input_count, &o->input_capacity, argument);
        return 0;
    default:
        return tool_set(settings, o, key, argument, state);
    }
}

static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PBIN...]",
    .doc = "Show which functions call which, how often, and the time [s] and energy [J] spent on "
           "behalf of each caller; several profiles are added up.\v"
           "Examples:\n"
           "  gmon2pbin -e ./program gmon.out | pbin-callgraph\n"
           "  pbin-callgraph --focus work --depth 2 run.pbin\n"
           "  pbin-callgraph run.pbin -o run.dot && dot -Tsvg run.dot > run.svg\n",
};

static int read_one(struct aggregate *aggregate, const char *path, struct options *o,
                    struct error *err)
{
    const struct pbin_choice choice = {o->common.salvage, o->common.value};
    return inputs_read_one(path, choice, 1, aggregate, &o->common.reporter, err);
}

static int read_all(struct aggregate *aggregate, struct options *o, struct error *err)
{
    if (o->input_count == 0 && read_one(aggregate, NULL, o, err) != 0)
        return -1;
    for (size_t i = 0; i < o->input_count; i++)
        if (read_one(aggregate, o->inputs[i], o, err) != 0)
            return -1;
    if (aggregate_finish(aggregate, err) != 0)
        return -1;
    if (aggregate_arc_count(aggregate) == 0)
        report_warning(
            &o->common.reporter,
            "no call arcs: callers are unknown; gmon2pbin and funcmeter --callers record them");
    return 0;
}

static int write_view(const struct callgraph_view *view, const struct options *o, struct error *err)
{
    size_t format = FORMATS;
    for (size_t i = 0; i < FORMATS; i++)
        if (o->common.format != NULL ? strcmp(o->common.format, formats[i].name) == 0
                                     : path_has_suffix(o->common.output, formats[i].suffix))
            format = i;
    if (format == FORMATS && path_has_any_suffix(o->common.output))
        return error_set_usage(
            err, o->common.output,
            "unknown suffix, expected .txt, .json, .dot or .gv (or use --format)");
    format = format == FORMATS ? 0 : format;
    struct output *out = tool_output(&o->common, 0, err);
    if (out == NULL)
        return -1;
    formats[format].write(view, out);
    return output_commit(out);
}

static int show(const struct aggregate *aggregate, struct options *o, struct error *err)
{
    struct callgraph_view view = {0};
    struct callgraph *graph = callgraph_new(aggregate, err);
    int result = -1;
    if (graph != NULL) {
        callgraph_view_make(&view, graph, aggregate, o->focus, o->depth, &o->common.reporter);
        view.width = tool_style(&o->common)->width;
        result = write_view(&view, o, err);
    }
    callgraph_view_free(&view);
    callgraph_delete(graph);
    return result;
}

const char *argp_program_version = "pbin-callgraph (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {0};
    struct error err = {0};
    tool_start(&o.common, "pbin-callgraph");
    o.aggregate.rows.keys = pbin_keys_of("binary,function");
    o.common.formats = format_name;
    tool_parse(&parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_VALUE | TOOL_FORMAT, argc, argv, &o);
    struct aggregate *aggregate = aggregate_new(&o.aggregate);
    int result = read_all(aggregate, &o, &err);
    if (result == 0)
        result = show(aggregate, &o, &err);
    aggregate_delete(aggregate);
    free(o.inputs);
    return tool_end(&o.common, result, &err);
}
