/* The command line of sampler.
 * SPDX-License-Identifier: MIT */
#include "record/options.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/tool.h"
#include "record/power_options.h"
#include "record/targets.h"

enum {
    KEY_BASELINE = 0x100,
    KEY_LIST,
    KEY_DURATION,
    KEY_ENGINE,
    KEY_EVENT,
    KEY_INTERVAL,
    KEY_FOLLOW,
    KEY_NO_FOLLOW,
    KEY_ATTACH,
    KEY_OVERHEAD,
};
static const double min_hertz = 0.01, max_hertz = 100000, max_seconds = 1e9;

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "Output:", 1},
    {"output", 'o', "FILE", EVERYDAY,
     "Write the profile to FILE; FILE.bz2 is compressed; %p, %h, %r, %t in its name are the "
     "process, host, MPI "
     "rank and time; without -o only a summary is printed",
     1},
    {"aggregate", 'a', NULL, EVERYDAY, "Only write sums per program counter, at the end of the run",
     1},
    {"debug", 'd', NULL, EVERYDAY, "Print details of the sampling at the end", 1},
    {NULL, 0, NULL, 0, "Sampling:", 2},
    {"frequency", 'f', "HZ", EVERYDAY, "Samples per second, a target (default: 1000)", 2},
    {"duration", KEY_DURATION, "SECONDS", EVERYDAY,
     "End the command after SECONDS: SIGTERM, 5 s later SIGKILL", 2},
    {"engine", KEY_ENGINE, "ENGINE", 0, "auto (default), perf or ptrace", 2},
    {"event", KEY_EVENT, "EVENT", 0, "perf: sample by cpu-clock (default) or cycles", 2},
    {"interval", KEY_INTERVAL, "KIND", 0, "Intervals between samples: random (default) or fixed",
     2},
    {"follow", KEY_FOLLOW, NULL, 0, "Sample the processes that the command starts, too (default)",
     2},
    {"no-follow", KEY_NO_FOLLOW, NULL, 0, "Sample the first process only", 2},
    {"attach", KEY_ATTACH, "TARGET", EVERYDAY,
     "Sample running processes: PID[,TID...], session:SID or cgroup:PATH", 2},
    {"max-overhead", KEY_OVERHEAD, "PERCENT", 0,
     "Reduce the rate if sampling costs more than this (default: 10; 0: no limit)", 2},
    {NULL, 0, NULL, 0, "Power (the options of a source follow its -p):", 3},
    {"pmu-arg", 'p', "SOURCE", EVERYDAY,
     "Measure with SOURCE[:ARGUMENT], repeatable; see --list-pmus", 3},
    {"pmu", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 3},
    {"sensor", 's', "N", EVERYDAY, "Use value number N of the source, as numbered by --list-pmus",
     3},
    {"list-pmus", KEY_LIST, NULL, EVERYDAY, "Print all sources, and whether they work here", 3},
    {"unit", KEY_POWER_UNIT, "U", EVERYDAY,
     "Unit of a file, counter, command or log: J, W, A, V with prefix n, u, m or k, or any other",
     3},
    {"pmu-kind", KEY_POWER_KIND, "KIND", 0, "Kind of the value: current, voltage, power or custom",
     3},
    {"range", KEY_POWER_RANGE, "COUNTS", 0, "The counter starts again from 0 after COUNTS", 3},
    {"clock-offset", KEY_POWER_CLOCK_OFFSET, "SECONDS", 0,
     "The clock of the log is ahead by SECONDS", 3},
    {"baseline", KEY_BASELINE, "SECONDS|WATTS", 0,
     "Power without the command: measured for SECONDS before it starts (2s), or given (12.5W)", 3},
    {NULL, 0, NULL, 0, "General:", 4},
    {"quiet", 'q', NULL, EVERYDAY, "No summary, no warnings", 4},
    {"verbose", KEY_VERBOSE, NULL, 0, "Report more about the run", 4},
    {NULL, 'h', NULL, EVERYDAY, "Print the everyday options and exit", 4},
    {"help", KEY_HELP, NULL, 0, "Print all options and exit", 4},
    {"usage", KEY_USAGE, NULL, 0, "Print a short usage message and exit", 4},
    {"version", 'V', NULL, 0, "Print the version and exit", 4},
    {0},
};

static const char purpose[] =
    "Run COMMAND, and record many times per second where its threads use CPU time, and how much "
    "power the machine draws.";
static const char examples[] = "Examples:\n"
                               "  sampler -o out.bin -- ./program\n"
                               "  sampler -o out.bin -f 500 --duration 60 -- make check\n"
                               "  sampler -o out.bin -p file:power1_input --unit uW -- ./program\n";

struct parsing {
    struct options *options;
    struct power_parsing power;
    struct targets targets; /* the options own its list */
};

/* ---- numbers and lists -------------------------------------------------------------------------- */

static double number(struct argp_state *state, const char *text, const char *what, double low,
                     double high)
{
    double value = 0;
    if (!parse_double(text, low, high, &value))
        argp_error(state, "%s must be a number from %g to %g, not '%s'", what, low, high, text);
    return value;
}

static void set_attach(struct parsing *parsing, const char *text)
{
    struct engine_options *engine = &parsing->options->engine;
    struct error why = {0};
    targets_free(&parsing->targets);
    if (targets_add(&parsing->targets, text, &why) != 0)
        exit(report_error(&parsing->options->reporter, &why));
    engine->attach = parsing->targets.list;
    engine->attach_count = parsing->targets.count;
    engine->attach_some = strchr(text, ':') != NULL;
}

/* Parses "2s" or "2" as seconds, "12.5W" as watts. */
static void set_baseline(struct argp_state *state, struct power_options *power, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    bool watts = strcmp(end, "W") == 0, seconds = *end == '\0' || strcmp(end, "s") == 0;
    if (end == text || !(value > 0) || !(value <= 1e6) || !(watts || seconds))
        argp_error(state, "--baseline must be seconds (2s) or watts (12.5W), not '%s'", text);
    power->baseline_seconds = seconds ? value : 0;
    power->baseline_w = watts ? value : 0;
}

/* ---- the output --------------------------------------------------------------------------------- */

static const char *rank_of_job(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL && rank[0] != '\0' && strchr(rank, '/') == NULL)
            return rank;
    }
    return "0";
}

/* Expands %LETTER in the name of the output. Returns whether the letter is known. */
static bool put_pattern(struct buffer *name, char letter)
{
    char text[256] = "";
    struct tm tm;
    time_t now = time(NULL);
    switch (letter) {
    case 'p':
        snprintf(text, sizeof text, "%ld", (long)getpid());
        break;
    case 'h':
        gethostname(text, sizeof text - 1);
        break;
    case 'r':
        snprintf(text, sizeof text, "%s", rank_of_job());
        break;
    case 't':
        strftime(text, sizeof text, "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
        break;
    case '%':
        text[0] = '%';
        break;
    default:
        return false;
    }
    buffer_bytes(name, text, strlen(text));
    return true;
}

static void set_out(struct argp_state *state, struct options *options, const char *path)
{
    struct buffer name = {0};
    if (strcmp(path, "-") == 0)
        argp_error(state, "-o: the standard output belongs to the command: name a file");
    if (path[0] == '\0')
        argp_error(state, "-o must be the name of a file, not ''");
    for (const char *at = path; *at != '\0'; at++) {
        if (*at != '%')
            buffer_u8(&name, (uint8_t)*at);
        else if (!put_pattern(&name, *++at))
            argp_error(state,
                       "-o must be a name with %% only in %%p, %%h, %%r, %%t or %%%%, not '%s'",
                       path);
    }
    free(options->out);
    options->out = mem_strndup((const char *)name.data, name.size);
    buffer_free(&name);
}

/* ---- power sources ------------------------------------------------------------------------------ */

/* Returns the arguments of -p, separated by spaces. Caller frees. */
static char *join_specs(const struct power_options *power)
{
    char *all = mem_strdup(power->count == 0 ? "none" : power->sources[0].spec);
    for (size_t i = 1; i < power->count; i++)
        mem_append(&all, " %s", power->sources[i].spec);
    return all;
}

static void check_sources(struct argp_state *state, const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    for (size_t i = 0; i < options->power.count; i++) {
        const struct pmu_source *source = options->power.sources[i].source;
        if (options->aggregate && source->late != NULL)
            argp_error(
                state,
                "-a cannot be combined with -p %s, whose values are known only after the run",
                source->name);
    }
    power_options_check(&parsing->power, state);
}

static void finish(struct argp_state *state, struct parsing *parsing)
{
    struct options *options = parsing->options;
    bool attached = options->engine.attach_count > 0;
    if (options->command == NULL && !attached)
        argp_error(state, "no command given: sampler [-o FILE] -- COMMAND [ARGUMENT...]");
    if (options->command != NULL && attached)
        argp_error(state, "--attach cannot be combined with a command ('%s')", options->command[0]);
    if (options->aggregate && options->out == NULL)
        argp_error(state, "-a: no output given: sampler -a -o FILE -- COMMAND [ARGUMENT...]");
    check_sources(state, parsing);
    options->pmu_specs = join_specs(&options->power);
}

/* ---- help --------------------------------------------------------------------------------------- */

/* Inserts the power sources into the help from their table. */
static char *describe_sources(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    return power_options_help(mem_strdup(text)); /* argp frees it */
}

/* ---- parsing ------------------------------------------------------------------------------------ */

static bool take_engine_option(int key, char *arg, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct engine_options *engine = &parsing->options->engine;
    switch (key) {
    case 'f':
        engine->frequency = number(state, arg, "-f", min_hertz, max_hertz);
        return true;
    case KEY_DURATION:
        engine->duration = number(state, arg, "--duration", 1e-3, max_seconds);
        return true;
    case KEY_ENGINE:
        tool_choose(state, "--engine", engine_name, arg);
        parsing->options->engine_name = arg;
        return true;
    case KEY_EVENT:
        engine->event = tool_either(state, "--event", arg, "cpu-clock", "cycles") ? arg : NULL;
        return true;
    case KEY_INTERVAL:
        engine->random = tool_either(state, "--interval", arg, "fixed", "random");
        return true;
    case KEY_FOLLOW:
    case KEY_NO_FOLLOW:
        engine->follow = key == KEY_FOLLOW;
        return true;
    case KEY_ATTACH:
        set_attach(parsing, arg);
        return true;
    case KEY_OVERHEAD:
        engine->max_overhead = number(state, arg, "--max-overhead", 0, 100) / 100;
        return true;
    default:
        return false;
    }
}

static const struct tool_setting settings[] = {
    SET_FLAG('a', struct options, aggregate),
    SET_FLAG('d', struct options, debug),
    SET_FLAG('q', struct options, reporter.quiet),
    SET_FLAG(KEY_VERBOSE, struct options, reporter.verbose),
    {0}};

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct options *options = parsing->options;
    if (power_option_take(&parsing->power, key, arg, state) ||
        take_engine_option(key, arg, state) || tool_set(settings, options, key, arg, state) == 0)
        return 0;
    switch (key) {
    case KEY_BASELINE:
        set_baseline(state, &options->power, arg);
        return 0;
    case 'o':
        set_out(state, options, arg);
        return 0;
    case ARGP_KEY_ARG: /* the rest belongs to the command */
        options->command = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        finish(state, parsing);
        return 0;
    case KEY_LIST:
        power_list(stdout);
        exit(EXIT_OK);
    default:
        return tool_take_help(key, state);
    }
}

const char *argp_program_version = "sampler (pbin-tools) " PBIN_TOOLS_VERSION;

void options_parse(struct options *options, int argc, char **argv)
{
    char *doc = mem_printf("%s\v%s\nThe exit status is that of COMMAND. See sampler(1).\n", purpose,
                           examples);
    const struct argp argp = {
        .options = option_table,
        .parser = take_option,
        .args_doc = "-- COMMAND [ARGUMENT...]",
        .doc = doc,
        .help_filter = describe_sources,
    };
    struct parsing parsing = {.options = options,
                              .power = {.power = &options->power, .early = {.kind = -1}}};
    *options = (struct options){
        .engine_name = "auto",
        .engine = {.frequency = 1000, .random = true, .follow = true, .max_overhead = 0.1},
        .reporter = {.tool = "sampler"}};
    tool_parse_only(&argp, argc, argv, &parsing);
    free(doc);
}

void options_free(struct options *options)
{
    free((void *)(uintptr_t)options->engine.attach);
    free(options->out);
    free(options->pmu_specs);
}
