/* pbin-aggregate: pbin in, one row per function (or other keys) out, with time and energy.
 *
 *   pbin-aggregate run.pbin          time [s]  share [%]  ...  energy [J]  binary  function
 *                                      1.0012      50.06  ...      20.024  burn    burn_50
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyze/report_rows.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/tool.h"

struct options {
    struct tool_common common;
    struct aggregate_options aggregate;
    struct report_options report;
    const char *format, *output;
    const char **inputs;
    size_t input_count, input_capacity;
    bool bzip2, salvage;
};

enum { KEY_SORT = KEY_TOOL_FIRST, KEY_TOP, KEY_MODE, KEY_FORMAT, KEY_BZIP2, KEY_SALVAGE, KEY_MODEL };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Rows:", 1},
    {"keys", 'k', "KEY,...", 0, "A row per combination of these (default: binary,function)", 1},
    {"sort", KEY_SORT, "METRIC", 0, "Largest first by time (default), energy, power, samples or entries", 1},
    {"top", KEY_TOP, "N", 0, "Show N rows, the rest as one row _other", 1},
    {0, 0, NULL, 0, "Several profiles:", 2},
    {"mode", KEY_MODE, "MODE", 0, "mean: each is a run, rows are means (default); add: they are shards of one run", 2},
    {0, 0, NULL, 0, "Attribution:", 3},
    {"energy-model", KEY_MODEL, "MODEL", 0,
     "share: a sample's energy is split by CPU time (default); thread: each thread is charged power x its CPU time", 3},
    {0, 0, NULL, 0, "Input and output:", 4},
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default), csv, json, jsonl or pbin", 4},
    {"output", 'o', "FILE", 0, "Write to FILE; its suffix .csv, .json, .jsonl, .pbin (and .bz2) decides the format", 4},
    {"bzip2", KEY_BZIP2, NULL, 0, "Compress the output", 4},
    {"salvage", KEY_SALVAGE, NULL, 0, "Keep what can be read of a truncated profile", 4},
    {0}};

static void parse_keys(struct options *o, const char *list, struct argp_state *state)
{
    o->aggregate.key_count = 0;
    for (const char *at = list;; at += strcspn(at, ",") + 1) {
        size_t length = strcspn(at, ",");
        int key = pbin_key_find(at, length);
        if (key < 0)
            argp_error(state, "unknown key '%.*s'; there are process, thread, binary, file, function, "
                              "inline, line and pc", (int)length, at);
        for (size_t i = 0; i < o->aggregate.key_count; i++)
            if (o->aggregate.keys[i] == key)
                argp_error(state, "key %s is named twice", pbin_key_get((size_t)key)->name);
        o->aggregate.keys[o->aggregate.key_count++] = key;
        if (at[length] == '\0')
            return;
    }
}

static void parse_sort(struct options *o, const char *name, struct argp_state *state)
{
    int metric = row_metric_parse(name);
    if (metric < 0)
        argp_error(state, "--sort takes time, energy, power, samples or entries, not '%s'", name);
    o->report.sort = (enum row_metric)metric;
}

static bool one_of(struct argp_state *state, const char *option, const char *argument,
                   const char *no, const char *yes)
{
    if (strcmp(argument, no) != 0 && strcmp(argument, yes) != 0)
        argp_error(state, "%s takes %s or %s, not '%s'", option, no, yes, argument);
    return strcmp(argument, yes) == 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    uint64_t number;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        return 0;
    case 'k':
        parse_keys(o, argument, state);
        return 0;
    case KEY_SORT:
        parse_sort(o, argument, state);
        return 0;
    case KEY_TOP:
        if (!parse_unsigned(argument, 1, SIZE_MAX, &number))
            argp_error(state, "--top takes a number of rows, not '%s'", argument);
        o->report.top = number;
        return 0;
    case KEY_MODE:
        o->aggregate.add = one_of(state, "--mode", argument, "mean", "add");
        return 0;
    case KEY_MODEL:
        o->aggregate.model = one_of(state, "--energy-model", argument, "share", "thread")
                                 ? ENERGY_THREAD : ENERGY_SHARE;
        return 0;
    case KEY_FORMAT:
        if (strcmp(argument, "pbin") != 0 && table_format_find(argument) == NULL)
            argp_error(state, "unknown format '%s'; there are text, csv, json, jsonl and pbin", argument);
        o->format = argument;
        return 0;
    case 'o':
        o->output = argument;
        return 0;
    case KEY_BZIP2:
        o->bzip2 = true;
        return 0;
    case KEY_SALVAGE:
        o->salvage = true;
        return 0;
    case ARGP_KEY_ARG:
        mem_reserve(&o->inputs, &o->input_capacity, o->input_count + 1, sizeof *o->inputs);
        o->inputs[o->input_count++] = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tool_common_argp, 0, NULL, 0}, {0}};
static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PBIN...]",
    .doc = "Add up the time [s] and energy [J] of profiles per function, line, thread, ...\v"
           "Examples:\n"
           "  prof2pbin run.bin | pbin-aggregate\n"
           "  pbin-aggregate -k thread,function --sort energy --top 20 run.pbin\n"
           "  pbin-aggregate run-*.pbin -o mean.csv\n",
    .children = children,
};

static int read_one(struct aggregate *aggregate, const char *path, struct options *o,
                    struct error *err)
{
    struct stream *in = stream_open(path, err);
    struct pbin_reader *reader = in == NULL ? NULL : pbin_reader_open(in, o->salvage, err);
    int result = -1;
    if (reader != NULL)
        result = aggregate_read(aggregate, reader, stream_name(in), &o->common.reporter, err);
    pbin_reader_close(reader);
    stream_close(in);
    return result;
}

static int read_all(struct aggregate *aggregate, struct options *o, struct error *err)
{
    if (o->input_count == 0 && read_one(aggregate, NULL, o, err) != 0)
        return -1;
    for (size_t i = 0; i < o->input_count; i++)
        if (read_one(aggregate, o->inputs[i], o, err) != 0)
            return -1;
    return aggregate_finish(aggregate, err);
}

/* The format that was named, else that of the suffix, else text. */
static const char *choose_format(const struct options *o)
{
    static const char *const suffixes[] = {".csv", ".json", ".jsonl", ".pbin"};
    if (o->format != NULL)
        return o->format;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (path_has_suffix(o->output, suffixes[i]))
            return suffixes[i] + 1;
    return "text";
}

static int write_result(const struct aggregate *aggregate, struct options *o, struct error *err)
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
    struct options o = {0};
    struct error err = {0};
    tool_start(&o.common, "pbin-aggregate");
    o.aggregate.key_count = 2;
    o.aggregate.keys[0] = pbin_key_find("binary", 6);
    o.aggregate.keys[1] = pbin_key_find("function", 8);
    tool_parse(&parser, argc, argv, &o);
    struct aggregate *aggregate = aggregate_new(&o.aggregate);
    int result = read_all(aggregate, &o, &err);
    if (result == 0)
        result = write_result(aggregate, &o, &err);
    aggregate_delete(aggregate);
    free(o.inputs);
    return tool_end(&o.common, result, &err);
}
