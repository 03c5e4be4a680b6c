/* The command line of sampler.
 * SPDX-License-Identifier: MIT */
#include "record/options.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tool.h"

enum { KEY_KIND = 0x100, KEY_UNIT, KEY_USAGE };
static const double lowest = 0.01, highest = 100000, longest = 1e9;

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "What is written", 1},
    {"output", 'o', "FILE", 0, "the profile (needed); FILE.bz2 is compressed", 1},
    {NULL, 0, NULL, 0, "How it is sampled", 2},
    {"frequency", 'f', "HZ", 0, "samples per second (default 1000)", 2},
    {"duration", 'd', "SECONDS", 0, "end the command after SECONDS: SIGTERM, 5 s later SIGKILL", 2},
    {NULL, 0, NULL, 0, "The value that every sample carries", 3},
    {"pmu", 'p', "SOURCE", 0, "where it comes from (default none), see below", 3},
    {"pmu-kind", KEY_KIND, "KIND", 0, "what it is: current, voltage, power or custom (default)", 3},
    {"unit", KEY_UNIT, "U", 0,
     "its unit; A, V, W with prefix n, u, m or k imply the kind and are scaled to A, V, W", 3},
    {NULL, 0, NULL, 0, "General", 4},
    {"quiet", 'q', NULL, 0, "no summary, no warnings", 4},
    {"verbose", 'v', NULL, 0, "tell more about the run", 4},
    {"help", 'h', NULL, 0, "print this and end", 4},
    {"usage", KEY_USAGE, NULL, 0, "print the options in short and end", 4},
    {"version", 'V', NULL, 0, "print the version and end", 4},
    {0},
};

static double number(struct argp_state *state, const char *text, const char *what, double low,
                     double high)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value < low || value > high)
        argp_error(state, "%s: expected a number from %g to %g, found '%s'", what, low, high, text);
    return value;
}

static void set_pmu(struct argp_state *state, struct options *options, const char *spec)
{
    struct error err = {0};
    options->pmu_spec = spec;
    options->pmu = pmu_find(spec, &options->pmu_argument, &err);
    if (options->pmu == NULL)
        argp_error(state, "%s", err.text);
}

/* Kind and unit, given or implied, must agree. */
static void settle_unit(struct argp_state *state, struct options *options, int kind)
{
    enum pmu_kind implied = PMU_CUSTOM;
    double scale = options->unit != NULL ? pmu_unit_scale(options->unit, &implied) : 0;
    options->kind = kind >= 0 ? (enum pmu_kind)kind : implied;
    const char *base = pmu_kind_unit(options->kind);
    if (base != NULL && options->unit != NULL && implied != options->kind)
        argp_error(state, "--unit: expected %s with or without a prefix (n u m k), found '%s'",
                   base, options->unit);
    options->scale = base != NULL && scale > 0 ? scale : 1;
    if (base != NULL)
        options->unit = base;
    else if (options->unit == NULL)
        options->unit = "";
}

/* Beside the options: the kind as it was given, -1 for not at all. */
struct parsing {
    struct options *options;
    int kind;
};

static void finish(struct argp_state *state, struct parsing *parsing)
{
    if (parsing->options->command == NULL)
        argp_error(state, "no command given: sampler -o FILE -- COMMAND [ARGUMENT...]");
    if (parsing->options->out == NULL)
        argp_error(state, "no output given: sampler -o FILE -- COMMAND [ARGUMENT...]");
    settle_unit(state, parsing->options, parsing->kind);
}

static void set_out(struct argp_state *state, struct options *options, const char *path)
{
    if (strcmp(path, "-") == 0)
        argp_error(state, "-o: the standard output belongs to the command, name a file");
    if (path[0] == '\0')
        argp_error(state, "-o: expected the name of a file, found ''");
    options->out = path;
}

static void set_kind(struct argp_state *state, struct parsing *parsing, const char *name)
{
    parsing->kind = pmu_kind_of(name);
    if (parsing->kind < 0)
        argp_error(state, "--pmu-kind: expected current, voltage, power or custom, found '%s'",
                   name);
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct options *options = parsing->options;
    switch (key) {
    case 'o':
        set_out(state, options, arg);
        return 0;
    case 'f':
        options->engine.frequency = number(state, arg, "-f", lowest, highest);
        return 0;
    case 'd':
        options->engine.duration = number(state, arg, "-d", 1e-3, longest);
        return 0;
    case 'p':
        set_pmu(state, options, arg);
        return 0;
    case KEY_KIND:
        set_kind(state, parsing, arg);
        return 0;
    case KEY_UNIT:
        options->unit = arg;
        return 0;
    case 'q':
        options->reporter.quiet = true;
        return 0;
    case 'v':
        options->reporter.verbose = true;
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case KEY_USAGE:
        argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
        return 0;
    case 'V':
        puts("sampler (pbin-tools) " PBIN_TOOLS_VERSION);
        exit(EXIT_OK);
    case ARGP_KEY_ARG: /* the rest is the command's own */
        options->command = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        finish(state, parsing);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The sources of the help come from their table. */
static char *describe_sources(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    char *list = mem_strdup("SOURCE:\n");
    for (const struct pmu_source *const *s = pmu_sources; *s != NULL; s++) {
        char *name = mem_printf("%s%s%s", (*s)->name, (*s)->argument != NULL ? ":" : "",
                                (*s)->argument != NULL ? (*s)->argument : "");
        char *longer = mem_printf("%s  %-12s %s\n", list, name, (*s)->help);
        free(name);
        free(list);
        list = longer;
    }
    char *all = mem_printf("%s%s", list, text);
    free(list);
    return all; /* argp frees it */
}

void options_parse(struct options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = take_option,
        .args_doc = "-- COMMAND [ARGUMENT...]",
        .doc =
            "Runs COMMAND and records where all its threads are, how much CPU time each has used, "
            "and a PMU value, many times a second.\v"
            "\nExamples:\n"
            "  sampler -o out.bin -- ./program\n"
            "  sampler -o out.bin -f 500 -d 60 -- make check\n"
            "  sampler -o out.bin -p file:power1_input --unit uW -- ./program\n"
            "\nThe exit status is that of COMMAND. See sampler(1).\n",
        .help_filter = describe_sources,
    };
    struct parsing parsing = {.options = options, .kind = -1};
    static char name[] = "sampler";
    const char *argument;
    *options = (struct options){.engine_name = "auto",
                                .engine = {.frequency = 1000, .random = true, .follow = true},
                                .reporter = {.tool = "sampler"}};
    options->pmu = pmu_find("none", &argument, NULL);
    options->pmu_spec = "none";
    tool_guard_streams();
    argp_err_exit_status = EXIT_USAGE;
    argv[0] = name; /* in front of every message, without a path */
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &parsing);
}
