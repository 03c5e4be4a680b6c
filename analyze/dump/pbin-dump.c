/* pbin-dump: shows the contents of a pbin: metadata and mappings, locations, threads, samples,
 * power sources, readings, measures, or the places of threads over time. Also describes many
 * profiles, in one line each.
 *
 *   pbin-dump --samples run.pbin
 *
 *     sample,time [s],value [W],thread,...,pc,binary,function,file,line
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/row_options.h"
#include "analyze/dump/dump.h"
#include "analyze/dump/dump_info.h"
#include "base/memory.h"
#include "base/tool.h"

typedef int dump_function(struct pbin_reader *reader, const struct dump_request *request,
                          struct output *out, struct error *err);

struct options {
    struct tool_common common;
    dump_function *dump; /* NULL: a line for each profile */
    struct dump_request request;
    bool selected;            /* a sample or reading is between --start and --end */
    bool has_times, has_keys; /* --start or --end was given; -k was given */
    const char **inputs;      /* at least one; NULL is stdin */
    size_t input_count, input_capacity;
};

enum {
    KEY_SAMPLES = KEY_TOOL_FIRST,
    KEY_LOCATIONS,
    KEY_THREADS,
    KEY_READINGS,
    KEY_SOURCES,
    KEY_MEASURES,
    KEY_HISTOGRAMS,
    KEY_RAW,
    KEY_PER_THREAD,
    KEY_GANTT,
    KEY_INFO,
    KEY_LAST_CONTENT = KEY_INFO,
    KEY_NORMALIZED
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Contents (default: metadata and mappings):", 1},
    {"raw", KEY_RAW, NULL, 0, "Metadata as stored, in ns and mHz, in text too", 1},
    {"samples", KEY_SAMPLES, NULL, EVERYDAY,
     "All samples, one row per thread (default format: csv)", 1},
    {"per-thread", KEY_PER_THREAD, NULL, EVERYDAY,
     "All samples, one column per thread (default format: csv)", 1},
    {"gantt", KEY_GANTT, NULL, EVERYDAY,
     "Each stay of a thread in a function, with start and duration (default format: csv)", 1},
    {"info", KEY_INFO, NULL, EVERYDAY,
     "One line for each of many profiles: samples, rate, span, threads, energy, power", 1},
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
    {0, 0, NULL, 0, "Selection:", 2},
    {"start", 's', "S", 0, "Leave out samples and readings before S seconds of the run", 2},
    {"end", 'e', "S", 0, "Leave out samples and readings at or after S seconds of the run", 2},
    {"interpolate", 'i', "N", 0,
     "--per-thread: a row per N samples, with their mean value and the threads of the first", 2},
    {"normalized", KEY_NORMALIZED, NULL, 0,
     "--samples and --per-thread: times since the first sample shown", 2},
    {"no-threads", 'n', NULL, 0, "--per-thread: only times and values", 2},
    {"keys", 'k', "KEY,...", 0,
     "Name the places of --per-thread and --gantt by these keys of pbin-aggregate (default: "
     "binary,function)",
     2},
    {0}};

static bool is_over_time(dump_function *dump)
{
    return dump == dump_samples || dump == dump_readings || dump == dump_per_thread ||
           dump == dump_gantt;
}

static void check(const struct options *o, struct argp_state *state)
{
    if (o->has_times && !is_over_time(o->dump))
        argp_error(state, "--start and --end need --samples, --per-thread, --gantt or --readings");
    if (o->request.start > o->request.end)
        argp_error(state, "--end must not be less than --start");
    if (o->has_keys && o->dump != dump_per_thread && o->dump != dump_gantt)
        argp_error(state, "-k needs --per-thread or --gantt");
    if ((o->request.interpolate > 0 || o->request.no_threads) && o->dump != dump_per_thread)
        argp_error(state, "--interpolate and --no-threads need --per-thread");
    if (o->request.normalized && o->dump != dump_samples && o->dump != dump_per_thread)
        argp_error(state, "--normalized needs --samples or --per-thread");
    if (o->dump != NULL && o->input_count > 1)
        argp_error(state, "unexpected argument '%s': only --info shows several profiles",
                   o->inputs[1]);
}

/* The contents, by option. NULL: a line for each profile. */
static dump_function *const contents[] = {
    [KEY_RAW - KEY_TOOL_FIRST] = dump_meta_raw,
    [KEY_SAMPLES - KEY_TOOL_FIRST] = dump_samples,
    [KEY_LOCATIONS - KEY_TOOL_FIRST] = dump_locations,
    [KEY_THREADS - KEY_TOOL_FIRST] = dump_threads,
    [KEY_READINGS - KEY_TOOL_FIRST] = dump_readings,
    [KEY_SOURCES - KEY_TOOL_FIRST] = dump_sources,
    [KEY_MEASURES - KEY_TOOL_FIRST] = dump_measures,
    [KEY_HISTOGRAMS - KEY_TOOL_FIRST] = dump_histograms,
    [KEY_PER_THREAD - KEY_TOOL_FIRST] = dump_per_thread,
    [KEY_GANTT - KEY_TOOL_FIRST] = dump_gantt,
    [KEY_INFO - KEY_TOOL_FIRST] = NULL,
};

static const struct tool_setting settings[] = {
    SET_WHOLE('i', struct options, request.interpolate, "--interpolate", 1, SIZE_MAX),
    SET_FLAG('n', struct options, request.no_threads),
    SET_FLAG(KEY_NORMALIZED, struct options, request.normalized),
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    if (key >= KEY_TOOL_FIRST && key <= KEY_LAST_CONTENT) {
        o->dump = contents[key - KEY_TOOL_FIRST];
        return 0;
    }
    switch (key) {
    case 's':
    case 'e':
        *(key == 's' ? &o->request.start : &o->request.end) =
            tool_number(state, key == 's' ? "--start" : "--end", argument, 0, 1e12);
        o->has_times = true;
        return 0;
    case 'k':
        keys_option(&o->request.keys, argument, state);
        o->has_keys = true;
        return 0;
    case ARGP_KEY_ARG:
        tool_append(&o->inputs, &o->input_count, &o->input_capacity, argument);
        return 0;
    case ARGP_KEY_END:
        check(o, state);
        return 0;
    default:
        return tool_set(settings, o, key, argument, state);
    }
}

static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PBIN...]",
    .doc = "Show the contents of a pbin profile.\v"
           "Examples:\n"
           "  pbin-dump run.pbin\n"
           "  pbin-dump --gantt --start 1 --end 2 run.pbin > stays.csv\n"
           "  pbin-dump --info run-*.pbin\n",
};

/* The format given by --format, otherwise by the suffix of the output. Otherwise text, except for
 * long tables, which are CSV, because text keeps all rows in memory. */
static const struct table_format *choose_format(const struct options *o)
{
    bool is_long = is_over_time(o->dump) || o->dump == dump_measures || o->dump == dump_histograms;
    return table_format_choose(o->common.format, o->common.output,
                               is_long ? &table_csv : &table_text);
}

/* A function to run on one profile. */
struct job {
    struct options *options;
    struct dump_info *info; /* if options->dump is NULL */
    struct output *out;
};

static int show_profile(const struct job *job, struct pbin_reader *reader, const char *name,
                        struct error *err)
{
    struct options *o = job->options;
    if (o->dump == NULL)
        return dump_info_add(job->info, reader, name, &o->common.reporter, err);
    int result = o->dump(reader, &o->request, job->out, err);
    if (result == 0)
        pbin_reader_warn_cut(reader, name, &o->common.reporter);
    if (result == 0 && o->has_times && !o->selected)
        report_warning(&o->common.reporter,
                       "%s: nothing is selected: nothing was recorded between --start and --end",
                       name);
    return result;
}

static int read_profile(const struct job *job, const char *path, struct error *err)
{
    const struct tool_common *common = &job->options->common;
    int result = -1;
    report_awaited(&common->reporter, path, "a pbin profile");
    struct stream *in = stream_open(path, err);
    const struct pbin_choice choice = {common->salvage, common->value};
    struct pbin_reader *reader = in == NULL ? NULL : pbin_reader_open(in, choice, err);
    if (reader != NULL) {
        result = show_profile(job, reader, stream_name(in), err);
        if (result != 0 && err->file[0] == '\0')
            snprintf(err->file, sizeof err->file, "%s", stream_name(in));
    }
    pbin_reader_close(reader);
    stream_close(in);
    return result;
}

static int run(struct options *o, struct error *err)
{
    struct job job = {.options = o, .out = tool_output(&o->common, 0, err)};
    if (job.out == NULL)
        return -1;
    o->request.format = choose_format(o);
    o->request.style = tool_style(&o->common);
    if (o->dump == NULL)
        job.info = dump_info_begin(o->request.format, o->request.style, job.out);
    int result = o->input_count == 0 ? read_profile(&job, NULL, err) : 0;
    for (size_t i = 0; result == 0 && i < o->input_count; i++)
        result = read_profile(&job, o->inputs[i], err);
    if (job.info != NULL)
        dump_info_end(job.info);
    if (result == 0)
        return output_commit(job.out);
    output_discard(job.out);
    return -1;
}

const char *argp_program_version = "pbin-dump (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {.dump = dump_meta, .request = {.end = INFINITY}};
    const struct elf_search search = {0};
    struct error err = {0};
    o.request.selected = &o.selected;
    tool_start(&o.common, "pbin-dump");
    o.common.formats = table_format_name;
    o.request.keys = pbin_keys_of("binary,function");
    tool_parse(&parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_VALUE | TOOL_FORMAT | TOOL_TABLE, argc,
               argv, &o);
    o.request.code = code_names_new(&search, &o.common.reporter);
    int result = table_format_check(o.common.format, o.common.output, NULL, &err);
    if (result == 0)
        result = run(&o, &err);
    code_names_delete(o.request.code);
    free(o.inputs);
    return tool_end(&o.common, result, &err);
}
