/* pbin-annotate: reads pbin and writes source lines or instructions with their time and energy.
 *
 *   pbin-annotate -f burn_30 run.pbin
 *
 *     time [s]  share [%]    line   source
 *                              56 |     for (int i = 0; i < 50000; i++)
 *      0.64435      30.26      57 |         number = number * 0.75 + ...
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/row_options.h"
#include "analyze/annotate/annotate_select.h"
#include "analyze/annotate/annotate_show.h"
#include "analyze/attribute/attribute.h"
#include "base/memory.h"
#include "base/name_list.h"
#include "base/tool.h"
#include "formats/elf/elf_options.h"

struct options {
    struct tool_common common;
    struct annotate_options annotate;
    const char **inputs;
    size_t input_count, input_capacity;
};

enum {
    KEY_ASM = KEY_TOOL_FIRST,
    KEY_SYNTAX,
    KEY_METRIC,
    KEY_THRESHOLD,
    KEY_CONTEXT,
    KEY_SOURCE_PATH,
    KEY_PREFIX_MAP,
    KEY_KERNEL,
    KEY_CI,
    KEY_WALL_TIME,
    KEY_LATENCY,
    KEY_MODE,
    KEY_LEVEL,
    KEY_EXTERNAL_LEVEL,
    KEY_MIN
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Selection:", 1},
    {"function", 'f', "GLOB", EVERYDAY,
     "Show functions whose name matches (repeatable, default: the one with the most time)", 1},
    {"asm", KEY_ASM, NULL, EVERYDAY, "Show instructions instead of source lines", 1},
    {"syntax", KEY_SYNTAX, "SYNTAX", 0, "att (default) or intel, for x86", 1},
    {"metric", KEY_METRIC, "METRIC", EVERYDAY,
     "Metric for shares and hot lines: time (default), energy or samples", 1},
    {"threshold", KEY_THRESHOLD, "PCT", EVERYDAY,
     "Mark lines with at least PCT % of their function (default 5)", 1},
    {"ci", KEY_CI, NULL, 0,
     "Show approximate 95 % confidence intervals of times, energies and shares", 1},
    KERNEL_OPTION(KEY_KERNEL, 1),
    WALL_TIME_OPTION(KEY_WALL_TIME, 1),
    LATENCY_OPTION(KEY_LATENCY, 1),
    MODE_OPTION(KEY_MODE, 0, "lines", 1),
    {"context", KEY_CONTEXT, "N", EVERYDAY,
     "Show only hot lines and N lines around each (default: whole functions)", 1},
    {"level", KEY_LEVEL, "LEVEL", 0,
     "Show all functions, and for the target only sums (binary or function) or everything (line or "
     "instruction, default)",
     1},
    {"external-level", KEY_EXTERNAL_LEVEL, "LEVEL", 0, "As --level, for all other binaries", 1},
    {"min", KEY_MIN, "LEVEL:METRIC=N", 0,
     "Show all functions, but leave out each LEVEL (binary, function, block, line, instruction) "
     "with a METRIC below N [s, J, samples] (repeatable)",
     1},
    {0, 0, NULL, 0, "Sources:", 2},
    {"source-path", KEY_SOURCE_PATH, "DIR", EVERYDAY,
     "Folder of sources built elsewhere (repeatable)", 2},
    {"prefix-map", KEY_PREFIX_MAP, "OLD=NEW", EVERYDAY,
     "Sources recorded under OLD are under NEW here (repeatable)", 2},
    {0, 0, NULL, 0, "Binaries, for --asm:", ELF_GROUP},
    {0}};

static void parse_metric(struct annotate_options *o, const char *name, struct argp_state *state)
{
    int metric = name_find(annotate_metric_names, HEATS, name);
    if (metric < 0)
        argp_error(state, "--metric must be time, energy or samples, not '%s'", name);
    o->metric = (enum annotate_metric)metric;
}

static enum annotate_level parse_level(const char *option, const char *name,
                                       struct argp_state *state)
{
    enum annotate_level level;
    if (!annotate_level_parse(name, strlen(name), &level) || level == LEVEL_BLOCK)
        argp_error(state, "%s must be binary, function, line or instruction, not '%s'", option,
                   name);
    return level;
}

static void parse_minimum(struct annotate_options *a, const char *text, struct argp_state *state)
{
    mem_reserve(&a->minima, &a->minimum_capacity, a->minimum_count + 1, sizeof *a->minima);
    const char *expected = annotate_minimum_parse(text, &a->minima[a->minimum_count++]);
    if (expected != NULL)
        argp_error(state, "--min must have %s, not '%s'", expected, text);
}

static const struct tool_setting settings[] = {
    SET_FLAG(KEY_ASM, struct annotate_options, assembly),
    SET_FLAG(KEY_CI, struct annotate_options, intervals),
    SET_NUMBER(KEY_THRESHOLD, struct annotate_options, threshold, "--threshold", 0, 100),
    {0}};

/* Parses options that choose how much of which functions is shown, and options that only set a
 * member. */
static error_t parse_detail(int key, const char *argument, struct argp_state *state,
                            struct annotate_options *a)
{
    switch (key) {
    case KEY_LEVEL:
        a->level = parse_level("--level", argument, state);
        break;
    case KEY_EXTERNAL_LEVEL:
        a->external_level = parse_level("--external-level", argument, state);
        break;
    case KEY_MIN:
        parse_minimum(a, argument, state);
        break;
    default:
        return tool_set(settings, a, key, argument, state);
    }
    a->all = true;
    return 0;
}

/* Checks options that require or replace each other. */
static void check(struct annotate_options *a, struct argp_state *state)
{
    a->all = a->all && a->function_count == 0;
    for (size_t i = 0; i < a->minimum_count; i++)
        if (a->minima[i].level == LEVEL_BLOCK && !a->assembly)
            argp_error(state, "--min block: needs --asm");
}

/* Parses options that weigh samples and join profiles. */
static error_t parse_weighing(int key, const char *argument, struct argp_state *state,
                              struct annotate_options *a)
{
    switch (key) {
    case KEY_WALL_TIME:
        a->given |= 1U << OPTION_TIME;
        a->weigh.wall_time = true;
        return 0;
    case KEY_LATENCY:
        latency_option(&a->weigh, &a->given, argument, state);
        a->weigh.model = a->weigh.latency == LATENCY_OF_THREADS ? &energy_by_thread : NULL;
        return 0;
    case KEY_MODE:
        a->add = mode_option(argument, state);
        return 0;
    default:
        return parse_detail(key, argument, state, a);
    }
}

/* Parses options that choose what is shown. */
static error_t parse_what(int key, char *argument, struct argp_state *state,
                          struct annotate_options *a)
{
    switch (key) {
    case 'f':
        tool_append(&a->functions, &a->function_count, &a->function_capacity, argument);
        return 0;
    case KEY_SYNTAX:
        a->intel = tool_either(state, "--syntax", argument, "att", "intel");
        return 0;
    case KEY_METRIC:
        parse_metric(a, argument, state);
        return 0;
    case KEY_KERNEL:
        kernel_option(&a->keys, &a->given, argument, state);
        return 0;
    case KEY_CONTEXT:
        a->context = tool_whole(state, "--context", argument, 0, UINT32_MAX);
        a->has_context = true;
        return 0;
    default:
        return parse_weighing(key, argument, state, a);
    }
}

/* Parses options that locate files. */
static error_t parse_where(int key, char *argument, struct argp_state *state,
                           struct annotate_options *a)
{
    switch (key) {
    case KEY_SOURCE_PATH:
        tool_append(&a->source_paths, &a->source_path_count, &a->source_path_capacity, argument);
        return 0;
    case KEY_PREFIX_MAP:
        if (argument[0] == '=' || strchr(argument, '=') == NULL)
            argp_error(state, "--prefix-map must be OLD=NEW, not '%s'", argument);
        tool_append(&a->prefix_maps, &a->prefix_map_count, &a->prefix_map_capacity, argument);
        return 0;
    default:
        return parse_what(key, argument, state, a);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->annotate.search;
        return 0;
    case ARGP_KEY_END:
        check(&o->annotate, state);
        return 0;
    case ARGP_KEY_ARG:
        tool_append(&o->inputs, &o->input_count, &o->input_capacity, argument);
        return 0;
    default:
        return parse_where(key, argument, state, &o->annotate);
    }
}

static const struct argp_child children[] = {{.argp = &elf_argp}, {0}};
static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PBIN...]",
    .doc = "Show source lines or instructions with the time [s] and energy [J] that they used.\v"
           "Examples:\n"
           "  pbin-annotate run.pbin\n"
           "  pbin-annotate -f 'burn_*' --source-path ~/src --context 3 run.pbin\n"
           "  pbin-annotate -f burn_50 --asm run-*.pbin\n",
    .children = children,
};

static int read_one(struct annotation *annotation, const char *path, struct options *o,
                    struct error *err)
{
    report_awaited(&o->common.reporter, path, "a pbin profile");
    struct stream *in = stream_open(path, err);
    const struct pbin_choice choice = {o->common.salvage, o->common.value};
    struct pbin_reader *reader = in == NULL ? NULL : pbin_reader_open(in, choice, err);
    int result = -1;
    if (reader != NULL)
        result = annotation_read(annotation, reader, stream_name(in), err);
    pbin_reader_close(reader);
    stream_close(in);
    return result;
}

static int read_all(struct annotation *annotation, struct options *o, struct error *err)
{
    if (o->input_count == 0)
        return read_one(annotation, NULL, o, err);
    o->annotate.search.beside = o->inputs[0];
    for (size_t i = 0; i < o->input_count; i++)
        if (read_one(annotation, o->inputs[i], o, err) != 0)
            return -1;
    return 0;
}

/* The format given by --format, otherwise by the suffix of the output. NULL: text. */
static const struct table_format *choose_format(const struct options *o)
{
    const struct table_format *format =
        table_format_choose(o->common.format, o->common.output, &table_text);
    return format == &table_text ? NULL : format;
}

static int write_result(struct annotation *annotation, struct options *o, struct error *err)
{
    struct output *out = tool_output(&o->common, 0, err);
    if (out == NULL)
        return -1;
    o->annotate.color = tool_color(&o->common);
    o->annotate.style = tool_style(&o->common);
    if (annotation_show(annotation, choose_format(o), out, err) == 0)
        return output_commit(out);
    output_discard(out);
    return -1;
}

static void free_options(struct options *o)
{
    free(o->annotate.functions);
    free(o->annotate.minima);
    free(o->annotate.source_paths);
    free(o->annotate.prefix_maps);
    elf_search_free(&o->annotate.search);
    free(o->inputs);
}

const char *argp_program_version = "pbin-annotate (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {.annotate = {.threshold = 5,
                                     .level = LEVEL_INSTRUCTION,
                                     .external_level = LEVEL_INSTRUCTION}};
    struct error err = {0};
    tool_start(&o.common, "pbin-annotate");
    o.common.formats = table_format_name;
    tool_parse(&parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_VALUE | TOOL_FORMAT | TOOL_TABLE, argc,
               argv, &o);
    struct annotation *annotation = annotation_new(&o.annotate, &o.common.reporter);
    int result = table_format_check(o.common.format, o.common.output, NULL, &err);
    if (result == 0)
        result = read_all(annotation, &o, &err);
    if (result == 0)
        result = write_result(annotation, &o, &err);
    annotation_delete(annotation);
    free_options(&o);
    return tool_end(&o.common, result, &err);
}
