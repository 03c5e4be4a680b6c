/* pbin-plot: draws profiles.
 *
 *   pbin-plot bars run.pbin -o run.svg        burn_50 ######################## 20.0 J  50.1 %
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/row_options.h"
#include "analyze/compare/match.h"
#include "base/memory.h"
#include "base/name_list.h"
#include "base/tool.h"
#include "plot/picture.h"

struct options {
    struct tool_common common;
    struct plot_options plot;
    struct picture_request picture;
    size_t input_capacity, base_capacity, with_capacity, mark_capacity;
    const char ***words; /* receives plain arguments after --base or --with; NULL: inputs */
    struct binary_map *maps;
    size_t map_capacity;
    size_t *word_count, *word_capacity;
    bool list, spreads; /* SPREADS: an option of box and violin was given */
    size_t *begins;     /* where the sides begin in plot.withs */
    size_t begin_capacity;
    struct selection selection;
};

enum {
    KEY_LIST = KEY_TOOL_FIRST,
    KEY_METRIC,
    KEY_TOP,
    KEY_FILTER,
    KEY_EXCLUDE,
    KEY_COUNTS,
    KEY_BASE,
    KEY_WITH,
    KEY_MAP,
    KEY_RELATIVE,
    KEY_POINTS,
    KEY_MEANS,
    KEY_BOXES,
    KEY_HORIZONTAL,
    KEY_ERROR,
    KEY_WEIGHT,
    KEY_ASC,
    KEY_DESC,
    KEY_CI,
    KEY_MARK,
    KEY_TITLE,
    KEY_WIDTH,
    KEY_HEIGHT,
    KEY_THEME,
    KEY_SCRIPT,
    KEY_KERNEL,
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Content:", 1},
    {"list", KEY_LIST, NULL, EVERYDAY, "Show the kinds of plots and exit", 1},
    {"metric", KEY_METRIC, "METRIC", EVERYDAY,
     "time, energy, power, samples, calls or inclusive (default: energy if there is any, else "
     "time)",
     1},
    {"filter", KEY_FILTER, "KEY=GLOB", EVERYDAY,
     "Only what matches; KEY~REGEX for a regular expression (repeatable; not for timeline and "
     "heatmap)",
     1},
    {"exclude", KEY_EXCLUDE, "KEY=GLOB", 0, "Leave out what matches (repeatable)", 1},
    {"ci", KEY_CI, NULL, 0,
     "bars: approximate 95 % confidence intervals of a single run, from its number of samples", 1},
    {"counts", KEY_COUNTS, NULL, 0, "hist: heights are calls, on one scale in all rows", 1},
    {"keys", 'k', "KEY,...", EVERYDAY,
     "One row per combination of these keys (default: binary,function)", 1},
    KERNEL_OPTION(KEY_KERNEL, 1),
    {"top", KEY_TOP, "N", EVERYDAY,
     "The N largest rows, and the rest as _other (default: as many as fit)", 1},
    {"start", 's', "S", EVERYDAY, "timeline, heatmap: from S seconds", 1},
    {"end", 'e', "S", EVERYDAY, "timeline, heatmap: up to S seconds", 1},
    {"interpolate", 'i', "N", 0, "timeline, heatmap: one point per N samples, or more", 1},
    {"no-threads", 'n', NULL, 0, "timeline: one lane for all threads", 1},
    {"mark", KEY_MARK, "S[=TEXT]", 0, "timeline: a line at S seconds (repeatable)", 1},
    {0, 0, NULL, 0, "Comparisons:", 2},
    {"base", KEY_BASE, "PBIN...", EVERYDAY, "The base runs (default: the first PBIN)", 2},
    {"with", KEY_WITH, "PBIN...", EVERYDAY,
     "Runs of a side to compare with the base (repeatable, default: each other PBIN is a side)", 2},
    {"map-binary", KEY_MAP, "OLD=NEW", 0, "Treat binary OLD as NEW (repeatable)", 2},
    {"relative", KEY_RELATIVE, NULL, 0, "Differences in percent of the base", 2},
    {0, 0, NULL, 0, "Distributions (box, violin):", 3},
    {"error", KEY_ERROR, "ERROR", 0,
     "Instead of runs, the errors of all rows between a base and each other side, as --error of "
     "pbin-compare",
     3},
    {"weight", KEY_WEIGHT, "SIDE", 0,
     "--error: weights are shares of the base (default), or of each other side", 3},
    {"points", KEY_POINTS, "POINTS", 0,
     "Runs as dots: none, outliers or all (default: all of up to 20 runs, else outliers; "
     "violins of errors: none)",
     3},
    {"means", KEY_MEANS, NULL, 0, "Also a dashed line at the mean", 3},
    {"boxes", KEY_BOXES, NULL, 0, "violin: also the box of the quartiles", 3},
    {"horizontal", KEY_HORIZONTAL, NULL, 0, "Rows from top to bottom (default)", 3},
    {"asc", KEY_ASC, NULL, 0, "The smallest mean first", 3},
    {"desc", KEY_DESC, NULL, 0, "The largest mean first", 3},
    {0, 0, NULL, 0, "Appearance:", 4},
    {"title", KEY_TITLE, "TEXT", EVERYDAY, "Title of the picture", 4},
    {"width", KEY_WIDTH, "PX", EVERYDAY, "Width [px or characters] (default: 900, of text 100)", 4},
    {"height", KEY_HEIGHT, "PX", EVERYDAY,
     "Height (default: 560, of text 30, more if --top needs it)", 4},
    {"theme", KEY_THEME, "THEME", EVERYDAY, "light (default), dark or print", 4},
    {0, 0, NULL, 0, "Input and output:", TOOL_FILES},
    {"output", 'o', "FILE", EVERYDAY,
     "Write to FILE.svg, .png, .pdf, .txt, .sixel or .html (default: stdout, on a terminal as "
     "sixel, if supported, or text, otherwise as svg)",
     TOOL_FILES},
    {"format", KEY_FORMAT, "FORMAT", EVERYDAY,
     "svg, png, pdf, txt, sixel or html (interactive: bars, compare, timeline, heatmap, flame, "
     "hist), "
     "regardless of the suffix",
     TOOL_FILES},
    {"script", KEY_SCRIPT, NULL, 0,
     "Also write the gnuplot script, FILE.gp, and the data, FILE.csv", TOOL_FILES},
    {0}};

static void parse_metric(struct options *o, const char *name, struct argp_state *state)
{
    int metric = row_metric_parse(name);
    if (metric < 0 || metric == METRIC_ENTRIES)
        argp_error(state,
                   "--metric must be time, energy, power, samples, calls or inclusive, not '%s'",
                   name);
    o->plot.metric = (enum row_metric)metric;
    o->plot.metric_given = true;
}

static void add_mark(struct options *o, char *argument, struct argp_state *state)
{
    char *text = strchr(argument, '=');
    if (text != NULL)
        *text++ = '\0';
    mem_reserve(&o->plot.marks, &o->mark_capacity, o->plot.mark_count + 1, sizeof *o->plot.marks);
    o->plot.marks[o->plot.mark_count++] = (struct plot_mark){
        tool_number(state, "--mark", argument, 0, 1e12), text != NULL ? text : ""};
}

/* Handles a plain argument: the first one is the kind; the others are files, for the list that was
 * named last. */
static void take_word(struct options *o, const char *word, struct argp_state *state)
{
    if (o->picture.kind == NULL) {
        o->picture.kind = plot_kind_find(word);
        if (o->picture.kind == NULL)
            argp_error(state, "unknown kind of plot '%s' (--list shows all kinds)", word);
        return;
    }
    if (o->words != NULL)
        tool_append(o->words, o->word_count, o->word_capacity, word);
    else
        tool_append(&o->plot.inputs, &o->plot.input_count, &o->input_capacity, word);
}

static void begin_side(struct options *o, bool base, const char *first)
{
    if (!base) {
        mem_reserve(&o->begins, &o->begin_capacity, o->plot.side_count + 1, sizeof *o->begins);
        o->begins[o->plot.side_count++] = o->plot.with_count;
        o->plot.with_begins = o->begins;
    }
    o->words = base ? &o->plot.bases : &o->plot.withs;
    o->word_count = base ? &o->plot.base_count : &o->plot.with_count;
    o->word_capacity = base ? &o->base_capacity : &o->with_capacity;
    tool_append(o->words, o->word_count, o->word_capacity, first);
}

static enum points points_of(const char *name, struct argp_state *state)
{
    static const char *const names[] = {"none", "outliers", "all"};
    int number = name_find(names, 3, name);
    if (number < 0)
        argp_error(state, "--points must be none, outliers or all, not '%s'", name);
    return (enum points)(POINTS_NONE + number);
}

static enum error_function error_named(const char *name, struct argp_state *state)
{
    int function = error_function_parse(name);
    if (function < 0)
        argp_error(
            state,
            "--error must be error, absolute, relative, absolute-relative, one of these with the "
            "prefix weighted-, or correct, not '%s'",
            name);
    return (enum error_function)function;
}

static const struct tool_setting settings[] = {
    SET_FLAG(KEY_LIST, struct options, list),
    SET_WHOLE(KEY_TOP, struct options, plot.top, "--top", 1, 100000),
    SET_FLAG(KEY_RELATIVE, struct options, plot.relative),
    SET_FLAG(KEY_COUNTS, struct options, plot.counts),
    SET_FLAG(KEY_CI, struct options, plot.intervals),
    SET_NUMBER('s', struct options, plot.start, "--start", 0, 1e12),
    SET_NUMBER('e', struct options, plot.end, "--end", 0, 1e12),
    SET_WHOLE('i', struct options, plot.interpolate, "--interpolate", 1, 1000000000),
    SET_FLAG('n', struct options, plot.no_threads),
    SET_TEXT('o', struct options, picture.output),
    SET_TEXT(KEY_TITLE, struct options, plot.title),
    SET_WHOLE(KEY_WIDTH, struct options, picture.width, "--width", 40, 10000),
    SET_FLAG(KEY_SCRIPT, struct options, picture.script),
    {0}};

/* Parses options of distributions, and those that only set a member. */
static error_t parse_spreads(int key, const char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_POINTS:
        o->plot.points = points_of(argument, state);
        break;
    case KEY_MEANS:
        o->plot.means = true;
        break;
    case KEY_BOXES:
        o->plot.boxes = true;
        break;
    case KEY_ERROR:
        o->plot.has_error = true;
        o->plot.error = error_named(argument, state);
        break;
    case KEY_WEIGHT:
        o->plot.other_weights = tool_either(state, "--weight", argument, "base", "other");
        break;
    case KEY_HORIZONTAL: /* these pictures are always horizontal */
        break;
    case KEY_ASC:
    case KEY_DESC:
        o->plot.order = key == KEY_ASC ? ORDER_ASCENDING : ORDER_DESCENDING;
        break;
    default:
        return tool_set(settings, o, key, argument, state);
    }
    o->spreads = true;
    return 0;
}

static error_t parse_looks(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_HEIGHT:
        o->picture.height = tool_whole(state, "--height", argument, 10, 10000);
        o->plot.height_given = true;
        return 0;
    case KEY_THEME:
        o->picture.theme = theme_find(argument);
        if (o->picture.theme == NULL)
            argp_error(state, "--theme must be light, dark or print, not '%s'", argument);
        return 0;
    case KEY_FORMAT:
        o->picture.format = argument;
        if (picture_find(argument) < 0)
            argp_error(state, "--format must be svg, png, pdf, txt, sixel or html, not '%s'",
                       argument);
        return 0;
    default:
        return parse_spreads(key, argument, state);
    }
}

/* Returns whether the picture compares sides. */
static bool compares(const struct options *o)
{
    return o->picture.kind->compares || (o->picture.kind->spreads && o->plot.has_error);
}

static void check_spreads(const struct options *o, struct argp_state *state)
{
    if (o->spreads && !o->picture.kind->spreads)
        argp_error(state,
                   "--error, --weight, --points, --means, --boxes, --asc, --desc and --horizontal "
                   "apply to box and violin, not to %s",
                   o->picture.kind->name);
    if (o->plot.other_weights && !o->plot.has_error)
        argp_error(state, "--weight needs --error");
    if (o->plot.has_error && o->plot.top > 0)
        argp_error(state, "--top does not apply with --error, where each row is a side");
}

/* Checks options of calls and of the kinds that draw them. */
static void check_calls(const struct options *o, struct argp_state *state)
{
    const struct plot_kind *kind = o->picture.kind;
    bool of_calls = o->plot.metric_given &&
                    (o->plot.metric == METRIC_CALLS || o->plot.metric == METRIC_INCLUSIVE);
    if (of_calls && !kind->calls && !compares(o))
        argp_error(state, "--metric=%s does not apply to %s", row_metric_name(o->plot.metric),
                   kind->name);
    if (o->plot.selection != NULL && kind->over_time)
        argp_error(state, "--filter and --exclude do not apply to %s", kind->name);
    if (o->plot.intervals && kind != &plot_bars)
        argp_error(state, "--ci applies to bars, not to %s", kind->name);
    if (o->plot.counts && kind != &plot_hist)
        argp_error(state, "--counts applies to hist, not to %s", kind->name);
}

static void check(const struct options *o, struct argp_state *state)
{
    if (o->list)
        return;
    if (o->picture.kind == NULL) {
        argp_error(state, "missing kind of plot (--list shows all kinds)");
        return; /* argp_error does not return, but the compiler does not know */
    }
    if (o->picture.script && (o->picture.output == NULL || strcmp(o->picture.output, "-") == 0))
        argp_error(state, "--script writes files beside the picture: it needs -o FILE");
    if (o->plot.base_count + o->plot.with_count + o->plot.map_count > 0 && !compares(o))
        argp_error(state, "--base, --with and --map-binary apply to comparisons, not to %s%s",
                   o->picture.kind->name, o->picture.kind->spreads ? " without --error" : "");
    if ((!isnan(o->plot.start) || !isnan(o->plot.end)) && !o->picture.kind->over_time)
        argp_error(state, "--start and --end apply to timeline and heatmap, not to %s",
                   o->picture.kind->name);
    check_calls(o, state);
    check_spreads(o, state);
    if (o->plot.interpolate > 0 && !o->picture.kind->over_time)
        argp_error(state, "--interpolate applies to timeline and heatmap, not to %s",
                   o->picture.kind->name);
    if (o->plot.no_threads && o->picture.kind != &plot_timeline)
        argp_error(state, "--no-threads applies to timeline, not to %s", o->picture.kind->name);
    if (o->plot.metric_given && o->picture.kind == &plot_scatter)
        argp_error(state, "--metric does not apply to scatter, which shows time and energy");
    if (o->plot.metric_given && o->plot.metric == METRIC_SAMPLES &&
        o->picture.kind == &plot_timeline)
        argp_error(state, "timeline shows power and threads or, with --metric=time, only threads; "
                          "not samples");
    if (!isnan(o->plot.start) && !isnan(o->plot.end) && o->plot.start >= o->plot.end)
        argp_error(state, "--end must be greater than --start");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->plot.names;
        return 0;
    case KEY_METRIC:
        parse_metric(o, argument, state);
        return 0;
    case 'k':
        keys_option(&o->plot.keys, argument, state);
        return 0;
    case KEY_FILTER:
    case KEY_EXCLUDE:
        filter_option(&o->selection, argument, key == KEY_EXCLUDE, state);
        o->plot.selection = &o->selection;
        return 0;
    case KEY_BASE:
    case KEY_WITH:
        begin_side(o, key == KEY_BASE, argument);
        return 0;
    case KEY_MAP:
        map_binary_option(&o->maps, &o->plot.map_count, &o->map_capacity, argument, state);
        return 0;
    case KEY_KERNEL:
        kernel_option(&o->plot.keys, &o->plot.given, argument, state);
        return 0;
    case KEY_MARK:
        add_mark(o, argument, state);
        return 0;
    case ARGP_KEY_ARG:
        take_word(o, argument, state);
        return 0;
    case ARGP_KEY_END:
        check(o, state);
        return 0;
    default:
        return parse_looks(key, argument, state);
    }
}

/* Inserts the list of kinds from the table into the help. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    char *all = mem_strdup("Kinds:\n");
    for (size_t i = 0; plot_kind_get(i) != NULL; i++)
        mem_append(&all, "  %-12s%s\n", plot_kind_get(i)->name, plot_kind_get(i)->help);
    mem_append(&all, "\n%s", text);
    return all;
}

static const struct argp_child children[] = {{.argp = &name_rules_argp}, {0}};
static const struct argp parser = {
    .children = children,
    .options = arguments,
    .parser = parse,
    .args_doc = "KIND [PBIN...]",
    .doc = "Draw where time [s] and energy [J] go, by function, thread and time.\v"
           "Examples:\n"
           "  pbin-plot bars run.pbin -o run.svg\n"
           "  pbin-plot timeline run.pbin --start 1.5 --end 2 --theme dark -o run.png\n"
           "  pbin-plot compare --base old-*.pbin --with new-*.pbin --relative -o diff.pdf\n",
    .help_filter = help_filter,
};

static int make(struct options *o, struct plot *plot, struct error *err)
{
    o->picture.color =
        tool_color(&o->common) && (o->picture.output == NULL || o->common.color == 1);
    return picture_make(&o->picture, plot, err);
}

static void list_kinds(void)
{
    for (size_t i = 0; plot_kind_get(i) != NULL; i++)
        printf("%-12s%s\n", plot_kind_get(i)->name, plot_kind_get(i)->help);
}

const char *argp_program_version = "pbin-plot (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {.plot = {.start = NAN, .end = NAN},
                        .picture = {.theme = theme_get(0)},
                        .selection = {.end = INFINITY}};
    struct error err = {0};
    tool_start(&o.common, "pbin-plot");
    tool_parse(&parser, TOOL_SALVAGE | TOOL_VALUE | TOOL_IN_ORDER, argc, argv, &o);
    o.plot.maps = o.maps;
    o.plot.choice = (struct pbin_choice){o.common.salvage, o.common.value};
    const struct elf_search search = {0};
    o.plot.code = code_names_new(&search, &o.common.reporter);
    struct plot plot = {.options = &o.plot, .reporter = &o.common.reporter};
    int result = 0;
    if (o.list)
        list_kinds();
    else
        result = make(&o, &plot, &err);
    script_free(&plot.script);
    buffer_free(&plot.picture);
    code_names_delete(o.plot.code);
    free(o.plot.inputs);
    free(o.plot.bases);
    free(o.maps);
    selection_free(&o.selection);
    name_rules_free(&o.plot.names);
    free(o.plot.withs);
    free(o.begins);
    free(o.plot.marks);
    return tool_end(&o.common, result, &err);
}
