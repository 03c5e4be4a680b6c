/* pbin-dump: shows the contents of a pbin - metadata and mappings, locations, threads, samples,
 * power sources, readings or measures.
 *
 *   pbin-dump --samples run.pbin      sample,time [s],value [W],thread,...,pc,binary,function,file,line
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyze/dump/dump.h"
#include "base/tool.h"

typedef int dump_function(struct pbin_reader *reader, const struct table_format *format,
                          const struct table_style *style, struct output *out, struct error *err);

struct options {
    struct tool_common common;
    dump_function *dump;
    const char *input;
};

enum {
    KEY_SAMPLES = KEY_TOOL_FIRST,
    KEY_LOCATIONS,
    KEY_THREADS,
    KEY_READINGS,
    KEY_SOURCES,
    KEY_MEASURES,
    KEY_HISTOGRAMS,
    KEY_RAW
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Contents (default: metadata and mappings):", 1},
    {"raw", KEY_RAW, NULL, 0, "Metadata as stored, in ns and mHz, in text too", 1},
    {"samples", KEY_SAMPLES, NULL, EVERYDAY,
     "All samples, one row per thread (default format: csv)", 1},
    {"locations", KEY_LOCATIONS, NULL, EVERYDAY,
     "All program counters with their inlined frames, innermost first", 1},
    {"threads", KEY_THREADS, NULL, EVERYDAY, "Every thread with its process and program", 1},
    {"sources", KEY_SOURCES, NULL, EVERYDAY, "Every power source", 1},
    {"readings", KEY_READINGS, NULL, EVERYDAY,
     "Every reading of a power source (default format: csv)", 1},
    {"measures", KEY_MEASURES, NULL, EVERYDAY,
     "Every value of a measure, such as calls (default format: csv)", 1},
    {"histograms", KEY_HISTOGRAMS, NULL, EVERYDAY,
     "Every bucket of the distributions of measures (default format: csv)", 1},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_RAW:
        o->dump = dump_meta_raw;
        return 0;
    case KEY_SAMPLES:
        o->dump = dump_samples;
        return 0;
    case KEY_LOCATIONS:
        o->dump = dump_locations;
        return 0;
    case KEY_THREADS:
        o->dump = dump_threads;
        return 0;
    case KEY_READINGS:
        o->dump = dump_readings;
        return 0;
    case KEY_SOURCES:
        o->dump = dump_sources;
        return 0;
    case KEY_MEASURES:
        o->dump = dump_measures;
        return 0;
    case KEY_HISTOGRAMS:
        o->dump = dump_histograms;
        return 0;
    case ARGP_KEY_ARG:
        if (o->input != NULL)
            argp_error(state, "unexpected argument '%s': only one profile can be shown", argument);
        o->input = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PBIN]",
    .doc = "Show the contents of a pbin profile.\v"
           "Examples:\n"
           "  pbin-dump run.pbin\n"
           "  pbin-dump --samples run.pbin > samples.csv\n"
           "  pbin-dump --locations --format=json run.pbin\n",
};

/* The format given by --format, else by the suffix of the output; else text, but CSV for long tables, because text keeps all
 * rows in memory. */
static const struct table_format *choose_format(const struct options *o)
{
    bool is_long = o->dump == dump_samples || o->dump == dump_readings ||
                   o->dump == dump_measures || o->dump == dump_histograms;
    return table_format_choose(o->common.format, o->common.output,
                               is_long ? &table_csv : &table_text);
}

static int run(struct options *o, struct error *err)
{
    struct output *out = NULL;
    int result = -1;
    report_awaited(&o->common.reporter, o->input, "a pbin profile");
    struct stream *in = stream_open(o->input, err);
    const struct pbin_choice choice = {o->common.salvage, o->common.value};
    struct pbin_reader *reader = in == NULL ? NULL : pbin_reader_open(in, choice, err);
    if (reader != NULL)
        out = tool_output(&o->common, 0, err);
    if (out != NULL)
        result = o->dump(reader, choose_format(o), tool_style(&o->common), out, err);
    if (result != 0 && in != NULL && err->file[0] == '\0')
        snprintf(err->file, sizeof err->file, "%s", stream_name(in));
    if (result == 0)
        result = output_commit(out);
    else
        output_discard(out);
    if (result == 0 && pbin_reader_cut(reader))
        report_warning(&o->common.reporter, "%s: truncated, kept %llu samples", stream_name(in),
                       (unsigned long long)pbin_reader_samples(reader));
    pbin_reader_close(reader);
    stream_close(in);
    return result;
}

const char *argp_program_version = "pbin-dump (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {.dump = dump_meta};
    struct error err = {0};
    tool_start(&o.common, "pbin-dump");
    o.common.formats = table_format_name;
    tool_parse(&parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_VALUE | TOOL_FORMAT | TOOL_TABLE, argc,
               argv, &o);
    int result = table_format_check(o.common.format, o.common.output, NULL, &err);
    if (result == 0)
        result = run(&o, &err);
    return tool_end(&o.common, result, &err);
}
