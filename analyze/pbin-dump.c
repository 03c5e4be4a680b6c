/* pbin-dump: what a pbin holds - its facts and mappings, its locations, or every sample.
 *
 *   pbin-dump --samples run.pbin      sample,time [s],value [W],thread,...,pc,binary,function,file,line
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyze/dump.h"
#include "base/tool.h"

typedef int dump_function(struct pbin_reader *reader, const struct table_format *format,
                          struct output *out, struct error *err);

struct options {
    struct tool_common common;
    dump_function *dump;
    const struct table_format *format;
    const char *input, *output;
    bool bzip2, salvage;
};

enum { KEY_SAMPLES = KEY_TOOL_FIRST, KEY_LOCATIONS, KEY_FORMAT, KEY_BZIP2, KEY_SALVAGE };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "What (default: facts and mappings):", 1},
    {"samples", KEY_SAMPLES, NULL, 0, "Every sample, a row per thread", 1},
    {"locations", KEY_LOCATIONS, NULL, 0, "Every program counter with its inlined frames, innermost first", 1},
    {0, 0, NULL, 0, "Input and output:", 2},
    {"format", KEY_FORMAT, "FORMAT", 0, "text, csv, json, jsonl or markdown (default: text, for --samples csv)", 2},
    {"output", 'o', "FILE", 0, "Write to FILE; its suffix .csv, .json, .jsonl, .md (and .bz2) decides the format", 2},
    {"bzip2", KEY_BZIP2, NULL, 0, "Compress the output", 2},
    {"salvage", KEY_SALVAGE, NULL, 0, "Keep what can be read of a truncated profile", 2},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        return 0;
    case KEY_SAMPLES:
        o->dump = dump_samples;
        return 0;
    case KEY_LOCATIONS:
        o->dump = dump_locations;
        return 0;
    case KEY_FORMAT:
        if ((o->format = table_format_find(argument)) == NULL)
            argp_error(state, "unknown format '%s'; there are text, csv, json, jsonl and markdown", argument);
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
        if (o->input != NULL)
            argp_error(state, "one profile at a time, '%s' is too many", argument);
        o->input = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tool_common_argp, 0, NULL, 0}, {0}};
static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PBIN]",
    .doc = "Show what a pbin profile holds.\v"
           "Examples:\n"
           "  pbin-dump run.pbin\n"
           "  pbin-dump --samples run.pbin > samples.csv\n"
           "  pbin-dump --locations --format=json run.pbin\n",
    .children = children,
};

/* The format that was named, else that of the suffix; text holds all rows in memory, so not for samples. */
static const struct table_format *choose_format(const struct options *o)
{
    const struct table_format *format =
        o->format != NULL ? o->format : table_format_of_path(o->output);
    if (format != NULL)
        return format;
    return o->dump == dump_samples ? &table_csv : &table_text;
}

static int run(struct options *o, struct error *err)
{
    struct output *out = NULL;
    int result = -1;
    struct stream *in = stream_open(o->input, err);
    struct pbin_reader *reader = in == NULL ? NULL : pbin_reader_open(in, o->salvage, err);
    if (reader != NULL)
        out = output_open(o->output, o->bzip2 ? OUTPUT_BZIP2 : 0, err);
    if (out != NULL)
        result = o->dump(reader, choose_format(o), out, err);
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
    tool_parse(&parser, argc, argv, &o);
    return tool_end(&o.common, run(&o, &err), &err);
}
