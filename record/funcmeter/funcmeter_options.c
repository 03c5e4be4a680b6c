/* The command line of funcmeter.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/funcmeter_options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "base/tool.h"
#include "formats/table/table.h"

enum {
    KEY_COUNT = KEY_TOOL_FIRST,
    KEY_CALLERS,
    KEY_CPU_TIME,
    KEY_LIST,
    KEY_THREADS,
    KEY_CLOCK,
    KEY_METHOD
};
static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "Measurement:", 1},
    {"count", KEY_COUNT, NULL, EVERYDAY, "Only count calls: costs least, and disturbs nothing", 1},
    {"callers", KEY_CALLERS, NULL, EVERYDAY,
     "Also count calls per caller: a table of callers, or arcs in a pbin", 1},
    {"cpu-time", KEY_CPU_TIME, NULL, EVERYDAY,
     "Measure CPU time of the thread, without waiting; costs up to 20 times as much", 1},
    {"clock", KEY_CLOCK, "CLOCK", 0,
     "tsc, the time-stamp counter (default, where its rate is constant), or monotonic", 1},
    {"method", KEY_METHOD, "METHOD", 0,
     "patch, change code in memory (default); uprobe, breakpoints of the kernel, which only count; "
     "or auto: uprobe where the program cannot load a library, or the code cannot be changed",
     1},
    {"list", KEY_LIST, NULL, EVERYDAY,
     "Print the functions that would be measured, and why others cannot be, without running "
     "COMMAND, which may be left out for libraries",
     1},
    {NULL, 0, NULL, 0, "Power (the options of a source follow its -p):", 2},
    {"pmu-arg", 'p', "SOURCE", EVERYDAY,
     "Measure the energy of long calls with SOURCE[:ARGUMENT], repeatable; see sampler --list-pmus",
     2},
    {"sensor", 's', "N", 0, "Use value number N of the source", 2},
    {"unit", KEY_POWER_UNIT, "U", 0, "Unit of a file, counter, command or log", 2},
    {"pmu-kind", KEY_POWER_KIND, "KIND", 0, "Kind of the value: power or custom", 2},
    {"range", KEY_POWER_RANGE, "COUNTS", 0, "The counter starts again from 0 after COUNTS", 2},
    {"clock-offset", KEY_POWER_CLOCK_OFFSET, "SECONDS", 0,
     "The clock of the log is ahead by SECONDS", 2},
    {NULL, 0, NULL, 0, "Output:", 3},
    {"output", 'o', "FILE", EVERYDAY,
     "Write the results to FILE (.pbin, .csv, .json, .jsonl, .md, .txt), not to stderr", 3},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "pbin, igprof, text, csv, json, jsonl, markdown or spreadsheet", 3},
    {"threads", KEY_THREADS, NULL, EVERYDAY, "Write a row for each function in each thread", 3},
    {NULL, 0, NULL, 0, "General:", 4},
    {"quiet", 'q', NULL, EVERYDAY, "No summary, no warnings", 4},
    {"verbose", KEY_VERBOSE, NULL, EVERYDAY, "Name the functions that cannot be measured, and why",
     4},
    {NULL, 'h', NULL, EVERYDAY, "Print the everyday options and exit", 4},
    {"help", KEY_HELP, NULL, 0, "Print all options and exit", 4},
    {"usage", KEY_USAGE, NULL, 0, "Print a short usage message and exit", 4},
    {"version", 'V', NULL, 0, "Print the version and exit", 4},
    {0},
};

static const char documentation[] =
    "Run COMMAND, count the calls of chosen functions, and measure how long they take. PATTERN "
    "is LIBRARY:REGEX, or @FILE with one per line.\v"
    "Examples:\n"
    "  funcmeter 'program:work|burn_.*' -- ./program\n"
    "  funcmeter -o calls.csv 'libfoo.so.1:.*' -- ./program\n"
    "  funcmeter --count 'libc.so.6:.*' -- ./program\n"
    "\nThe exit status is that of COMMAND. See funcmeter(1).\n";

static void take_argument(struct argp_state *state, struct funcmeter_options *o, const char *text)
{
    struct error err = {0};
    if (state->quoted != 0 && state->next > state->quoted) {
        o->command = state->argv + state->next - 1;
        state->next = state->argc;
    } else if (meter_patterns_add(&o->patterns, text, &err) != 0) {
        exit(report_error(&o->reporter, &err));
    }
}

bool funcmeter_wants_pbin(const struct funcmeter_options *o)
{
    return o->format != NULL ? strcmp(o->format, "pbin") == 0 : path_has_suffix(o->output, ".pbin");
}

bool funcmeter_wants_igprof(const struct funcmeter_options *o)
{
    return o->format != NULL && strcmp(o->format, "igprof") == 0;
}

const char *funcmeter_beyond_probes(const struct funcmeter_options *o)
{
    return o->session.callers    ? "--callers"
           : o->session.cpu_time ? "--cpu-time"
           : o->per_thread       ? "--threads"
           : o->power.count > 0  ? "-p"
                                 : NULL;
}

/* Libraries can be listed without a command, because the loader finds them for any program. */
static void list_alone(struct argp_state *state, struct funcmeter_options *o)
{
    for (size_t i = 0; i < o->patterns.count; i++)
        if (strpbrk(o->patterns.items[i].library, "*?[") != NULL)
            argp_error(state, "pattern '%s': --list needs a command for a name with wildcards",
                       o->patterns.items[i].text);
    snprintf(o->self_path, sizeof o->self_path, "/proc/self/exe");
    o->self[0] = o->self_path;
    o->command = o->self;
    o->alone = true;
}

static void finish(struct argp_state *state, struct funcmeter_options *o)
{
    struct error err = {0};
    if (o->command == NULL && o->session.listing)
        list_alone(state, o);
    if (o->command == NULL)
        argp_error(state, "no command given: funcmeter PATTERN... -- COMMAND [ARGUMENT...]");
    if (o->patterns.count == 0)
        argp_error(state, "no pattern given: funcmeter PATTERN... -- COMMAND [ARGUMENT...]");
    bool igprof = funcmeter_wants_igprof(o);
    const char *table = igprof || funcmeter_wants_pbin(o) ? NULL : o->format;
    const char *path = igprof ? NULL : o->output; /* the format has no suffix of its own */
    power_options_check(&o->power_parsing, state);
    if (o->session.callers && o->per_thread && !igprof && !funcmeter_wants_pbin(o))
        argp_error(state, "--threads: the table of --callers has no threads: write a pbin");
    if (o->power.count > 0 && (!o->session.timing || o->session.cpu_time))
        argp_error(state, "-p cannot be combined with %s: energy is that of wall time",
                   o->session.timing ? "--cpu-time" : "--count");
    if (o->method == METHOD_UPROBE && funcmeter_beyond_probes(o) != NULL)
        argp_error(state, "%s cannot be combined with --method uprobe, which only counts",
                   funcmeter_beyond_probes(o));
    if (table_format_check(table, path, ".pbin", &err) != 0)
        argp_error(state, "%s", err.text);
}

static enum meter_method method_of(struct argp_state *state, const char *name)
{
    static const char *const names[] = {"patch", "uprobe", "auto"};
    int method = name_find(names, sizeof names / sizeof names[0], name);
    if (method < 0)
        argp_error(state, "--method must be auto, patch or uprobe, not '%s'", name);
    return (enum meter_method)method;
}

static const struct tool_setting settings[] = {
    SET_FLAG(KEY_CALLERS, struct funcmeter_options, session.callers),
    SET_FLAG(KEY_CPU_TIME, struct funcmeter_options, session.cpu_time),
    SET_FLAG(KEY_LIST, struct funcmeter_options, session.listing),
    SET_FLAG(KEY_THREADS, struct funcmeter_options, per_thread),
    SET_TEXT('o', struct funcmeter_options, output),
    SET_TEXT(KEY_FORMAT, struct funcmeter_options, format),
    SET_FLAG('q', struct funcmeter_options, reporter.quiet),
    SET_FLAG(KEY_VERBOSE, struct funcmeter_options, reporter.verbose),
    {0}};

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    struct funcmeter_options *o = state->input;
    if (power_option_take(&o->power_parsing, key, argument, state) ||
        tool_set(settings, o, key, argument, state) == 0)
        return 0;
    switch (key) {
    case KEY_COUNT:
        o->session.timing = false;
        return 0;
    case KEY_CLOCK:
        o->session.monotonic = tool_either(state, "--clock", argument, "tsc", "monotonic");
        return 0;
    case KEY_METHOD:
        o->method = method_of(state, argument);
        return 0;
    case ARGP_KEY_ARG:
        take_argument(state, o, argument);
        return 0;
    case ARGP_KEY_END:
        finish(state, o);
        return 0;
    default:
        return tool_take_help(key, state);
    }
}

const char *argp_program_version = "funcmeter (pbin-tools) " PBIN_TOOLS_VERSION;

void funcmeter_options_parse(struct funcmeter_options *o, int argc, char **argv)
{
    const struct argp argp = {.options = option_table,
                              .parser = take_option,
                              .args_doc = "PATTERN... -- COMMAND [ARGUMENT...]\n--list PATTERN...",
                              .doc = documentation};
    *o = (struct funcmeter_options){.reporter = {.tool = "funcmeter"}, .session = {.timing = true}};
    o->power_parsing = (struct power_parsing){.power = &o->power, .early = {.kind = -1}};
    tool_parse_only(&argp, argc, argv, o);
}
