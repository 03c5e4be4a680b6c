/* The command line of pbin-aggregate.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/aggregate_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/row_options.h"
#include "base/number.h"
#include "formats/elf/elf_options.h"

enum {
    KEY_SORT = KEY_TOOL_FIRST,
    KEY_TOP,
    KEY_THRESHOLD,
    KEY_CUMULATIVE,
    KEY_TREE,
    KEY_THREADS,
    KEY_CI,
    KEY_STATIC,
    KEY_FILTER,
    KEY_EXCLUDE,
    KEY_EXTERNAL,
    KEY_EXTERNAL_KEYS,
    KEY_START,
    KEY_END,
    KEY_PHASE,
    KEY_MODE,
    KEY_MODEL,
    KEY_LATENCY,
    KEY_CPU_TIME,
    KEY_WALL_TIME,
    KEY_MAX_GAP,
    KEY_FILES,
    KEY_KERNEL,
    KEY_FRACTIONS,
    KEY_OTHERS,
    KEY_LAG,
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Rows:", 1},
    {"keys", 'k', "KEY,...", EVERYDAY,
     "A row per combination of process, program, thread, comm, binary, function, linkage-name, "
     "outer-line, inline, stack-inline, file, line, basic-block, pc, instruction, opcode (default: "
     "binary,function)",
     1},
    {"external-keys", KEY_EXTERNAL_KEYS, "KEY,...", 0,
     "Keys for the rows of binaries other than the target, from those of -k; with binary, each "
     "library is one row",
     1},
    {"threads", KEY_THREADS, NULL, EVERYDAY,
     "Separate rows per thread (adds thread as the first key)", 1},
    {"tree", KEY_TREE, NULL, EVERYDAY, "Indent by key, with subtotals", 1},
    {"sort", KEY_SORT, "METRIC", EVERYDAY,
     "Sort by time (default), energy, power, samples, entries, calls or inclusive, largest first",
     1},
    {"top", KEY_TOP, "N", EVERYDAY, "Show at most N rows; the rest becomes one row, _other", 1},
    {"threshold", KEY_THRESHOLD, "PCT", 0,
     "Show rows with a share of at least PCT (of energy when sorted by energy, else of time)", 1},
    {"cumulative", KEY_CUMULATIVE, "PCT", 0, "Show rows until their shares add up to PCT", 1},
    {"ci", KEY_CI, NULL, 0,
     "Show approximate 95 % confidence intervals of times, energies and shares", 1},
    {"static", KEY_STATIC, "W", OPTION_ARG_OPTIONAL,
     "Also divide energy into static (used even without the program: at the recorded baseline or W "
     "watts, or the idle energy of --energy-model=fit) and dynamic (the rest)",
     1},
    {"fractions", KEY_FRACTIONS, NULL, 0,
     "Time, samples, entries and energy as fractions of their totals", 1},
    {0, 0, NULL, 0, "Selection:", 2},
    {"filter", KEY_FILTER, "KEY=GLOB", EVERYDAY,
     "Include only what matches; KEY~REGEX for a regular expression (repeatable)", 2},
    {"exclude", KEY_EXCLUDE, "KEY=GLOB", 0, "Exclude what matches (repeatable)", 2},
    {"exclude-external", KEY_EXTERNAL, NULL, EVERYDAY, "Include only the target binary", 2},
    {"start", KEY_START, "S", EVERYDAY, "Exclude samples before S seconds of the run", 2},
    {"end", KEY_END, "S", EVERYDAY, "Exclude samples at or after S seconds of the run", 2},
    {"phase", KEY_PHASE, "FUNCTION[:N]", 0,
     "Start at the first entry into FUNCTION, or take the samples between its entries N and N+1",
     2},
    {0, 0, NULL, 0, "Attribution:", 3},
    {"energy-model", KEY_MODEL, "MODEL", EVERYDAY,
     "share (default): energy by the CPU time around each sample, unused time to _idle; fit: least "
     "squares over the updates of the sensor, with a 95 % interval per row; sample: split the "
     "energy of each sample by CPU time; thread: charge each thread power x its CPU time",
     3},
    {"others", KEY_OTHERS, "HOW", 0,
     "How to treat other programs, if their CPU time was recorded: split (default): they share the "
     "energy by CPU time, as _others; ignore: assume that only the program uses CPU "
     "time",
     3},
    {"sensor-lag", KEY_LAG, "S", 0,
     "The sensor shows what it measured S seconds late (share and fit); auto: find S, from 0 to 4 "
     "updates of the sensor",
     3},
    {"cpu-time", KEY_CPU_TIME, NULL, 0, "Count CPU time (default)", 3},
    WALL_TIME_OPTION(KEY_WALL_TIME, 3),
    LATENCY_OPTION(KEY_LATENCY, 3),
    KERNEL_OPTION(KEY_KERNEL, 3),
    {"max-gap", KEY_MAX_GAP, "S", 0, "Charge the part of an interval beyond S seconds to _gap", 3},
    {0, 0, NULL, 0, "Several profiles:", 4},
    MODE_OPTION(KEY_MODE, EVERYDAY, "rows", 4),
    {"files-from", KEY_FILES, "FILE", 0, "Read the names of profiles from FILE, - for stdin", 4},
    {"null", '0', NULL, 0, "Names in FILE end in NUL instead of newline", 4},
    {"jobs", 'j', "N", 0,
     "Use N threads, for several profiles or parts of a large one (default: one per CPU)", 4},
    {0, 0, NULL, 0, "Binaries, for the keys basic-block and instruction:", ELF_GROUP},
    {0}};

/* Parses FUNCTION[:N]. Names in C++ contain colons, so only a number after the last colon
 * counts. */
static void parse_phase(struct selection *s, char *argument, struct argp_state *state)
{
    char *colon = strrchr(argument, ':');
    if (colon != NULL && parse_unsigned(colon + 1, 1, UINT64_MAX, &s->phase_number))
        *colon = '\0';
    if (argument[0] == '\0')
        argp_error(state, "--phase needs the name of a function");
    s->phase = argument;
}

static void parse_sort(struct aggregate_command *o, const char *name, struct argp_state *state)
{
    int metric = row_metric_parse(name);
    if (metric < 0)
        argp_error(state,
                   "--sort must be time, energy, power, samples, entries, calls or inclusive, not "
                   "'%s'",
                   name);
    o->report.sort = (enum row_metric)metric;
}

/* Parses options that select samples. Returns whether KEY is one. */
static bool parse_selection(struct selection *s, int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case KEY_FILTER:
    case KEY_EXCLUDE:
        filter_option(s, argument, key == KEY_EXCLUDE, state);
        return true;
    case KEY_EXTERNAL:
        s->exclude_external = true;
        return true;
    case KEY_START:
    case KEY_END:
        *(key == KEY_START ? &s->start : &s->end) =
            tool_number(state, key == KEY_START ? "--start" : "--end", argument, 0, 1e12);
        s->has_window = true;
        return true;
    case KEY_PHASE:
        parse_phase(s, argument, state);
        return true;
    default:
        return false;
    }
}

/* The names of the models of samples, then that of least squares. */
static const char *model_name(size_t number)
{
    const struct energy_model *model = energy_model_get(number);
    if (model != NULL)
        return model->name;
    return number == 0 || energy_model_get(number - 1) != NULL ? "fit" : NULL;
}

static void choose_model(struct attribution_options *rows, const char *argument,
                         struct argp_state *state)
{
    rows->weigh.model =
        energy_model_get(tool_choose(state, "--energy-model", model_name, argument));
    rows->fit = rows->weigh.model == NULL; /* profiles without the sums for it are rejected */
    rows->given |= rows->fit ? 0 : 1U << OPTION_MODEL;
}

static void lag_option(struct aggregate_command *o, const char *argument, struct argp_state *state)
{
    o->aggregate.rows.given |= 1U << OPTION_LAG;
    o->finds_lag = strcmp(argument, "auto") == 0;
    o->aggregate.rows.weigh.lag =
        o->finds_lag ? 0 : tool_number(state, "--sensor-lag", argument, 0, 10);
}

/* Parses options that affect how samples are weighed. Returns whether KEY is one. */
static bool parse_weighing(struct attribution_options *rows, int key, char *argument,
                           struct argp_state *state)
{
    struct weigh_options *w = &rows->weigh;
    switch (key) {
    case KEY_MAX_GAP:
        rows->given |= 1U << OPTION_GAP;
        w->max_gap = tool_number(state, "--max-gap", argument, 0, 1e9);
        if (w->max_gap == 0)
            argp_error(state, "--max-gap must be greater than 0");
        return true;
    case KEY_LATENCY:
        latency_option(w, &rows->given, argument, state);
        return true;
    case KEY_OTHERS:
        rows->given |= 1U << OPTION_OTHERS;
        w->ignore_others = tool_either(state, "--others", argument, "split", "ignore");
        return true;
    case KEY_WALL_TIME:
    case KEY_CPU_TIME:
        rows->given |= 1U << OPTION_TIME;
        w->wall_time = key == KEY_WALL_TIME;
        return true;
    default:
        return false;
    }
}

/* Parses options of the table. Returns whether KEY is one. */
static bool parse_report(struct aggregate_command *o, int key, char *argument,
                         struct argp_state *state)
{
    switch (key) {
    case KEY_SORT:
        parse_sort(o, argument, state);
        return true;
    case KEY_CUMULATIVE:
        o->report.cumulative = tool_number(state, "--cumulative", argument, 0, 100);
        if (o->report.cumulative == 0)
            argp_error(state, "--cumulative must be greater than 0");
        return true;
    case KEY_STATIC:
        o->statics = true;
        o->watts = argument != NULL ? tool_number(state, "--static", argument, 0, 1e9) : 0;
        if (argument != NULL && o->watts == 0)
            argp_error(state, "--static must be greater than 0");
        return true;
    default:
        return false;
    }
}

/* Adds the key thread in front of the others. */
static void add_thread_key(struct pbin_keys *keys)
{
    if (pbin_keys_index(keys, "thread") < keys->count)
        return;
    memmove(keys->key + 1, keys->key, keys->count++ * sizeof keys->key[0]);
    keys->key[0] = pbin_key_find("thread", 6);
}

/* Selects the model thread for --subtract-latency=thread, and rejects other models: times of
 * threads do not affect their energies. */
static void check_latency(struct attribution_options *rows, struct argp_state *state)
{
    struct weigh_options *w = &rows->weigh;
    if (w->latency != LATENCY_OF_THREADS)
        return;
    if (rows->fit || (w->model != NULL && w->model != &energy_by_thread))
        argp_error(state, "--subtract-latency=thread needs --energy-model=thread");
    w->model = &energy_by_thread;
}

/* Rejects options that have no effect with other models. */
static void check_model(const struct aggregate_command *o, struct argp_state *state)
{
    const struct attribution_options *rows = &o->aggregate.rows;
    const struct weigh_options *w = &rows->weigh;
    bool shared = w->model == NULL || w->model == &energy_by_share;
    if ((w->lag > 0 || o->finds_lag) && (!shared || w->wall_time))
        argp_error(state, "--sensor-lag needs --energy-model=share or fit, without --wall-time");
    if ((rows->given & 1U << OPTION_OTHERS) != 0 && (!shared || rows->fit || w->wall_time))
        argp_error(state, "--others needs --energy-model=share, without --wall-time");
    if (o->statics && !shared)
        argp_error(state, "--static needs --energy-model=share or fit: with the other models, "
                          "rows include the energy of idle time");
    if (o->statics && !rows->fit &&
        (o->selection.filter_count > 0 || o->selection.exclude_external))
        argp_error(state, "--static needs all rows: filters exclude idle time and other programs");
}

static const struct tool_setting settings[] = {
    SET_TEXT(KEY_EXTERNAL_KEYS, struct aggregate_command, external_keys),
    SET_FLAG(KEY_THREADS, struct aggregate_command, threads),
    SET_WHOLE(KEY_TOP, struct aggregate_command, report.top, "--top", 1, SIZE_MAX),
    SET_NUMBER(KEY_THRESHOLD, struct aggregate_command, report.threshold, "--threshold", 0, 100),
    SET_FLAG(KEY_TREE, struct aggregate_command, report.tree),
    SET_FLAG(KEY_CI, struct aggregate_command, report.intervals),
    SET_FLAG(KEY_FRACTIONS, struct aggregate_command, report.fractions),
    SET_TEXT(KEY_FILES, struct aggregate_command, inputs.list),
    SET_FLAG('0', struct aggregate_command, inputs.nul),
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct aggregate_command *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->search;
        state->child_inputs[1] = &o->names;
        o->selection.end = INFINITY;
        return 0;
    case ARGP_KEY_END:
        if (o->selection.start > o->selection.end)
            argp_error(state, "--end must not be less than --start");
        if (o->watts > 0 && o->aggregate.rows.fit)
            argp_error(state,
                       "--static takes no power with --energy-model=fit, which estimates it");
        check_latency(&o->aggregate.rows, state);
        check_model(o, state);
        if (o->threads)
            add_thread_key(&o->aggregate.rows.keys);
        if (o->external_keys != NULL)
            external_keys_option(&o->aggregate.rows.keys, o->external_keys, state);
        return 0;
    case 'k':
        keys_option(&o->aggregate.rows.keys, argument, state);
        return 0;
    case KEY_KERNEL:
        kernel_option(&o->aggregate.rows.keys, &o->aggregate.rows.given, argument, state);
        return 0;
    case KEY_MODEL:
        choose_model(&o->aggregate.rows, argument, state);
        return 0;
    case KEY_LAG:
        lag_option(o, argument, state);
        return 0;
    case KEY_MODE:
        o->aggregate.add = mode_option(argument, state);
        return 0;
    case 'j':
        o->inputs.jobs = (unsigned)tool_whole(state, "-j", argument, 1, 1024);
        return 0;
    case ARGP_KEY_ARG:
        inputs_add(&o->inputs, argument);
        return 0;
    default:
        if (parse_selection(&o->selection, key, argument, state)) {
            o->selects = true;
            return 0;
        }
        if (parse_weighing(&o->aggregate.rows, key, argument, state))
            return 0;
        if (parse_report(o, key, argument, state))
            return 0;
        return tool_set(settings, o, key, argument, state);
    }
}

static const struct argp_child children[] = {
    {.argp = &elf_rare_argp}, {.argp = &name_rules_argp}, {0}};
const struct argp aggregate_argp = {
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
