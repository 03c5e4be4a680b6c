/* The command line of pbin-compare.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/compare_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/row_options.h"
#include "base/memory.h"
#include "base/name_list.h"

enum {
    KEY_BASE = KEY_TOOL_FIRST,
    KEY_WITH,
    KEY_METRIC,
    KEY_ERROR,
    KEY_AGGREGATE,
    KEY_WEIGHT,
    KEY_COMMON,
    KEY_SORT,
    KEY_TOP,
    KEY_MATCH,
    KEY_MAP,
    KEY_ALPHA,
    KEY_SHARE,
    KEY_NOISE,
    KEY_FAIL,
    KEY_KERNEL,
    KEY_FILTER,
    KEY_EXCLUDE,
    KEY_EXTERNAL,
    KEY_THRESHOLD,
    KEY_CUMULATIVE,
    KEY_LARGEST
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Sides:", 1},
    {"base", KEY_BASE, "PBIN", EVERYDAY, "The following files are runs of the base", 1},
    {"with", KEY_WITH, "PBIN", EVERYDAY,
     "The following files are runs of another side (repeatable)", 1},
    {"names", 'n', "NAME,...", EVERYDAY, "Names of the sides, with the base first", 1},
    {0, 0, NULL, 0, "Rows:", 2},
    {"keys", 'k', "KEY,...", EVERYDAY, "A row per combination of these (default: binary,function)",
     2},
    KERNEL_OPTION(KEY_KERNEL, 2),
    {"match", KEY_MATCH, "HOW", 0,
     "function (default): by name, ignoring clone suffixes; line: by file and line, following "
     "moved lines",
     2},
    {"map-binary", KEY_MAP, "OLD=NEW", 0, "Treat binary OLD as NEW (repeatable)", 2},
    {"filter", KEY_FILTER, "KEY=GLOB", EVERYDAY,
     "Include only what matches; KEY~REGEX for a regular expression (repeatable)", 2},
    {"exclude", KEY_EXCLUDE, "KEY=GLOB", 0, "Exclude what matches (repeatable)", 2},
    {"exclude-external", KEY_EXTERNAL, NULL, 0, "Include only the target binary", 2},
    {"common", KEY_COMMON, NULL, 0, "Only rows that all sides have", 2},
    {"largest", KEY_LARGEST, "N", 0, "Only the N largest rows of the base", 2},
    {"threshold", KEY_THRESHOLD, "PCT", 0,
     "Only rows with at least PCT % of the base (of its energy if the metric is energy or power, "
     "else of its time)",
     2},
    {"cumulative", KEY_CUMULATIVE, "PCT", 0,
     "Only the largest rows of the base, until they add up to PCT %", 2},
    {"sort", KEY_SORT, "BY", EVERYDAY, "Order: difference (default), base, other, ratio, p or key",
     2},
    {"top", KEY_TOP, "N", EVERYDAY, "Show N rows and the total", 2},
    {0, 0, NULL, 0, "Comparison:", 3},
    {"metric", KEY_METRIC, "METRIC", EVERYDAY,
     "time (default), energy, power, samples, execution-time, share, samples-share; of calls: "
     "calls, inclusive or call-time",
     3},
    {"error", KEY_ERROR, "ERROR", 0,
     "Add a column: error, absolute, relative, absolute-relative, one of these with the prefix "
     "weighted-, or correct",
     3},
    {"aggregate", KEY_AGGREGATE, "HOW", 0,
     "sum (default), min, max, mean, weighted-mean, rmse or weighted-rmse of the errors, in the "
     "total; relative: their sum in % of the total of the other side; error: 100 % minus that; "
     "with the suffix -baseline: of the total of the base",
     3},
    {"weight", KEY_WEIGHT, "SIDE", 0,
     "Weights are shares of the base (default) or of the other side", 3},
    {0, 0, NULL, 0, "Significance:", 4},
    {"alpha", KEY_ALPHA, "LEVEL", 0,
     "Significance level: probability of any false positive in a table (default 0.05)", 4},
    {"min-share", KEY_SHARE, "PCT", 0, "Test only rows with at least this share (default 1)", 4},
    {"noise", KEY_NOISE, "PCT", 0,
     "For single runs: assumed variation of rows between runs (default 5)", 4},
    {"fail-if", KEY_FAIL, "CONDITION", EVERYDAY,
     "Exit with status 3 if a row has increased significantly, and by more than the limit: "
     "'energy>5%', 'time>0.5s', 'total:time>2%' (repeatable)",
     4},
    {0}};

static void new_set(struct compare_command *o, struct argp_state *state)
{
    if (o->set_count == MAX_RUN_SETS)
        argp_error(state, "at most %d sides can be compared", MAX_RUN_SETS);
    o->set_count++;
    o->started = true;
}

static void put_input(struct compare_command *o, const char *path, struct argp_state *state)
{
    if (!o->grouped)
        new_set(o, state);
    mem_reserve(&o->inputs, &o->input_capacity, o->input_count + 1, sizeof *o->inputs);
    o->inputs[o->input_count++] = (struct compare_input){path, o->set_count - 1};
}

static void begin_group(struct compare_command *o, bool base, const char *path,
                        struct argp_state *state)
{
    if (o->started && !o->grouped)
        argp_error(state, "'%s': files must follow --base or --with", o->inputs[0].path);
    if (base && o->started)
        argp_error(state, "--base must come first and only once");
    if (!base && !o->started)
        argp_error(state, "--base must precede --with");
    o->grouped = true;
    new_set(o, state);
    put_input(o, path, state);
}

static void put_condition(struct compare_command *o, const char *text, struct argp_state *state)
{
    mem_reserve(&o->conditions, &o->condition_capacity, o->condition_count + 1,
                sizeof *o->conditions);
    const char *wrong = fail_if_parse(text, &o->conditions[o->condition_count++]);
    if (wrong != NULL)
        argp_error(state, "--fail-if '%s': %s", text, wrong);
}

/* Returns NUMBER. If it is negative, ARGUMENT of OPTION is none of NAMES: a usage error. */
static int known(struct argp_state *state, const char *option, const char *names,
                 const char *argument, int number)
{
    if (number < 0)
        argp_error(state, "%s must be %s, not '%s'", option, names, argument);
    return number;
}

/* Returns whether NAME would make column names ambiguous. */
static bool is_taken(const struct compare_command *o, const char *name)
{
    static const char *const taken[] = {"weight",      "difference", "ratio",     "p",
                                        "significant", "verdict",    "other_line"};
    if (name_find(taken, sizeof taken / sizeof taken[0], name) >= 0)
        return true;
    for (size_t i = 0; i < ERROR_FUNCTIONS; i++)
        if (strcmp(error_function_name((enum error_function)i), name) == 0)
            return true;
    for (size_t i = 0; i < o->set_count; i++)
        if (o->names[i] != NULL && strcmp(o->names[i], name) == 0)
            return true;
    return pbin_key_find(name, strlen(name)) >= 0;
}

static void split_names(struct compare_command *o, struct argp_state *state)
{
    size_t count = 0;
    char *rest = o->owned_names = mem_strdup(o->name_list), *name;
    while ((name = strsep(&rest, ",")) != NULL) {
        if (count == o->set_count)
            argp_error(state, "-n has more names than sides (%zu)", o->set_count);
        if (name[0] == '\0' || is_taken(o, name))
            argp_error(state, "-n: name '%s' is empty, reserved or repeated", name);
        o->names[count++] = name;
    }
    if (count < o->set_count)
        argp_error(state, "-n has %zu names for %zu sides", count, o->set_count);
}

static void default_names(struct compare_command *o)
{
    static const char *const plain[MAX_RUN_SETS] = {"base", "other"};
    size_t used = 0;
    if (o->set_count > 2)
        o->owned_names = mem_zalloc(MAX_RUN_SETS, 16);
    for (size_t i = 0; i < o->set_count; i++) {
        o->names[i] = plain[i];
        if (o->set_count == 2 || i == 0)
            continue;
        o->names[i] = o->owned_names + used;
        used += (size_t)sprintf(o->owned_names + used, "other%zu", i) + 1;
    }
}

static bool has_key(const struct compare_command *o, const char *name)
{
    const struct pbin_keys *keys = &o->compare.rules.aggregate.rows.keys;
    return pbin_keys_index(keys, name) < keys->count;
}

static void finish_options(struct compare_command *o, struct argp_state *state)
{
    if (o->set_count < 2)
        argp_error(state, "expected a base and at least one other profile");
    struct pbin_keys *keys = &o->compare.rules.aggregate.rows.keys;
    bool caller = keys->caller;
    if (!o->keys_given)
        *keys =
            pbin_keys_of(o->compare.rules.lines ? "binary,file,function,line" : "binary,function");
    keys->caller = caller;
    if (o->compare.rules.lines && !(has_key(o, "line") && has_key(o, "function")))
        argp_error(state, "--match line needs the keys function and line");
    if (o->compare.rules.lines && has_key(o, "pc"))
        argp_error(state, "--match line and the key pc cannot be combined");
    if (o->report.other_weights && o->set_count > 2)
        argp_error(state, "--weight other needs a single other side");
    if (error_aggregate_is_share(o->report.aggregate) &&
        error_function_is_relative(o->report.error))
        argp_error(state, "--aggregate %s needs an --error in the unit of the metric, not in %%",
                   error_aggregate_name(o->report.aggregate));
    if (o->name_list != NULL)
        split_names(o, state);
    else
        default_names(o);
    o->compare.rules.maps = o->maps;
    o->compare.by_energy = o->report.metric == COMPARE_ENERGY || o->report.metric == COMPARE_POWER;
    o->report.names = o->names;
}

static const struct tool_setting settings[] = {
    SET_TEXT('n', struct compare_command, name_list),
    SET_FLAG(KEY_COMMON, struct compare_command, compare.common),
    SET_WHOLE(KEY_LARGEST, struct compare_command, compare.largest, "--largest", 1, SIZE_MAX),
    SET_PERCENT(KEY_THRESHOLD, struct compare_command, compare.threshold, "--threshold", 100),
    SET_WHOLE(KEY_TOP, struct compare_command, report.top, "--top", 1, SIZE_MAX),
    SET_NUMBER(KEY_ALPHA, struct compare_command, compare.alpha, "--alpha", 1e-12, 0.5),
    SET_PERCENT(KEY_SHARE, struct compare_command, compare.least_share, "--min-share", 100),
    SET_PERCENT(KEY_NOISE, struct compare_command, compare.noise, "--noise", 1000),
    {0}};

static error_t parse_more(int key, char *argument, struct argp_state *state)
{
    struct compare_command *o = state->input;
    switch (key) {
    case KEY_FILTER:
    case KEY_EXCLUDE:
        filter_option(&o->selection, argument, key == KEY_EXCLUDE, state);
        o->compare.rules.aggregate.rows.selection = &o->selection;
        return 0;
    case KEY_EXTERNAL:
        o->selection.exclude_external = true;
        o->compare.rules.aggregate.rows.selection = &o->selection;
        return 0;
    case KEY_CUMULATIVE:
        o->compare.cumulative = tool_number(state, "--cumulative", argument, 0, 100) / 100;
        if (o->compare.cumulative == 0)
            argp_error(state, "--cumulative must be greater than 0");
        return 0;
    case KEY_SORT:
        o->report.sort =
            (enum compare_sort)known(state, "--sort", "difference, base, other, ratio, p or key",
                                     argument, compare_sort_parse(argument));
        return 0;
    case KEY_WEIGHT:
        o->report.other_weights = tool_either(state, "--weight", argument, "base", "other");
        return 0;
    case ARGP_KEY_ARG:
        put_input(o, argument, state);
        return 0;
    case ARGP_KEY_END:
        finish_options(o, state);
        return 0;
    default:
        return tool_set(settings, o, key, argument, state);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct compare_command *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->rules;
        return 0;
    case KEY_BASE:
    case KEY_WITH:
        begin_group(o, key == KEY_BASE, argument, state);
        return 0;
    case 'k':
        keys_option(&o->compare.rules.aggregate.rows.keys, argument, state);
        o->keys_given = true;
        return 0;
    case KEY_KERNEL:
        kernel_option(&o->compare.rules.aggregate.rows.keys, &o->compare.rules.aggregate.rows.given,
                      argument, state);
        return 0;
    case KEY_MATCH:
        o->compare.rules.lines = tool_either(state, "--match", argument, "function", "line");
        return 0;
    case KEY_MAP:
        map_binary_option(&o->maps, &o->compare.rules.map_count, &o->map_capacity, argument, state);
        return 0;
    case KEY_METRIC:
        o->report.metric =
            (enum compare_metric)known(state, "--metric",
                                       "time, energy, power, samples, execution-time, share, "
                                       "samples-share, calls, inclusive or call-time",
                                       argument, compare_metric_parse(argument, strlen(argument)));
        return 0;
    case KEY_ERROR:
        o->report.has_error = true;
        o->report.error =
            (enum error_function)known(state, "--error",
                                       "error, absolute, relative, absolute-relative, one of these "
                                       "with the prefix weighted-, or correct",
                                       argument, error_function_parse(argument));
        return 0;
    case KEY_AGGREGATE:
        o->report.has_error = o->common.table.total = true; /* the total shows the aggregate */
        o->report.aggregate =
            (enum error_aggregate)known(state, "--aggregate",
                                        "sum, min, max, mean, weighted-mean, rmse, weighted-rmse, "
                                        "relative, error, relative-baseline or error-baseline",
                                        argument, error_aggregate_parse(argument));
        return 0;
    case KEY_FAIL:
        put_condition(o, argument, state);
        return 0;
    default:
        return parse_more(key, argument, state);
    }
}

static const struct argp_child children[] = {{.argp = &name_rules_argp}, {0}};
static const struct argp parser = {
    .children = children,
    .options = arguments,
    .parser = parse,
    .args_doc = "BASE OTHER...\n--base PBIN... --with PBIN... [--with PBIN...]",
    .doc = "Compare profiles function by function, and separate changes from noise.\v"
           "Examples:\n"
           "  pbin-compare before.pbin after.pbin\n"
           "  pbin-compare --base before-*.pbin --with after-*.pbin --metric energy\n"
           "  pbin-compare --fail-if 'time>5%' -o change.md base.pbin new.pbin\n",
};

void compare_options_parse(struct compare_command *o, int argc, char **argv)
{
    *o = (struct compare_command){.compare = compare_defaults, .selection.end = INFINITY};
    o->compare.rules.aggregate.rows.names = &o->rules;
    tool_start(&o->common, "pbin-compare");
    o->common.formats = table_format_name;
    tool_parse(&parser,
               TOOL_OUTPUT | TOOL_SALVAGE | TOOL_VALUE | TOOL_FORMAT | TOOL_TABLE | TOOL_IN_ORDER,
               argc, argv, o);
    o->compare.rules.choice = (struct pbin_choice){o->common.salvage, o->common.value};
}

void compare_options_free(struct compare_command *o)
{
    name_rules_free(&o->rules);
    selection_free(&o->selection);
    free(o->inputs);
    free(o->maps);
    free(o->conditions);
    free(o->owned_names);
}
