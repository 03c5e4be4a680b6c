/* The options that tools share.
 * SPDX-License-Identifier: MIT */
#include "base/tool.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/sanitizers.h"

static const struct argp_option
    common_options[] = {{"quiet", 'q', NULL, EVERYDAY, "No warnings, no progress bar", TOOL_GROUP},
                        {"verbose", KEY_VERBOSE, NULL, 0, "Report each step on stderr", TOOL_GROUP},
                        {"color", KEY_COLOR, "WHEN", 0,
                         "always, never or auto (default; NO_COLOR is honoured)", TOOL_GROUP},
                        {"max-memory", KEY_MAX_MEMORY, "SIZE", 0,
                         "Allocate at most SIZE bytes (suffixes K, M, G; 0: no limit; default: a "
                         "quarter of the memory)",
                         TOOL_GROUP},
                        {NULL, 'h', NULL, EVERYDAY, "Print the everyday options and exit", -1},
                        {"help", KEY_HELP, NULL, 0, "Print all options and exit", -1},
                        {"usage", KEY_USAGE, NULL, 0, "Print a short usage message and exit", -1},
                        {"version", 'V', NULL, 0, "Print the version and exit", -1},
                        {0}},
    output_options[] = {{0, 0, NULL, 0, "Input and output:", TOOL_FILES},
                        {"output", 'o', "FILE", EVERYDAY,
                         "Write to FILE, complete or not at all (default: stdout)", TOOL_FILES},
                        {"bzip2", KEY_BZIP2, NULL, 0, "Compress with bzip2 (implied by FILE.bz2)",
                         TOOL_FILES},
                        {0}},
    salvage_options[] = {{"salvage", KEY_SALVAGE, NULL, EVERYDAY,
                          "Keep the readable part of a truncated profile", TOOL_FILES},
                         {0}},
    value_options[] = {{"value", KEY_VALUE, "NAME", 0,
                        "Use the values of this source (pbin-dump --sources)", TOOL_FILES},
                       {0}},
    table_options[] =
        {{0, 0, NULL, 0, "Tables:", TOOL_TABLES},
         {"wide", KEY_WIDE, NULL, EVERYDAY,
          "All columns and complete names in text (default: what fits a terminal)", TOOL_TABLES},
         {"columns", KEY_COLUMNS, "NAME,...", EVERYDAY, "Only these columns, in this order",
          TOOL_TABLES},
         {"total", KEY_TOTAL, NULL, 0, "CSV with the row _total", TOOL_TABLES},
         {"crlf", KEY_CRLF, NULL, 0, "CSV with lines that end in CR LF (RFC 4180)", TOOL_TABLES},
         {"delimiter", KEY_DELIMITER, "CHAR", 0,
          "CSV with CHAR between fields; tab for a tab (default: a comma)", TOOL_TABLES},
         {"label-none", KEY_LABEL_NONE, "TEXT", 0,
          "CSV with TEXT for unknown names (default: empty or _unknown)", TOOL_TABLES},
         {0}},
    strict_options[] = {{"strict", KEY_STRICT, NULL, 0, "Treat warnings as errors", TOOL_FILES},
                        {0}},
    format_options[] = {{"format", KEY_FORMAT, "FORMAT", EVERYDAY, "see help_filter", TOOL_FILES},
                        {0}};

static int color_of(const char *when, struct argp_state *state)
{
    if (strcmp(when, "always") != 0 && strcmp(when, "never") != 0 && strcmp(when, "auto") != 0)
        argp_error(state, "--color must be always, never or auto, not '%s'", when);
    return when[1] == 'l' ? 1 : when[0] == 'n' ? 0 : -1;
}

/* Parses a size in bytes, such as 512M. */
static uint64_t size_of(const char *text, struct argp_state *state)
{
    static const char suffixes[] = "KMG";
    size_t length = strlen(text);
    const char *suffix = length > 1 ? strchr(suffixes, text[length - 1]) : NULL;
    unsigned shift = suffix != NULL && *suffix != '\0' ? 10 * (unsigned)(suffix + 1 - suffixes) : 0;
    char *digits = mem_strndup(text, shift > 0 ? length - 1 : length);
    uint64_t value = 0;
    if (!parse_unsigned(digits, 0, UINT64_MAX >> shift, &value))
        argp_error(state,
                   "--max-memory must be a number of bytes, optionally with K, M or G, not '%s'",
                   text);
    free(digits);
    return value << shift;
}

/* Parses the character between fields of CSV. */
static char delimiter_of(const char *text, struct argp_state *state)
{
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        return '\t';
    bool usable = (text[0] == '\t' || (text[0] > ' ' && text[0] < 0x7f)) && text[0] != '"' &&
                  !isalnum((unsigned char)text[0]) && strchr("+-._", text[0]) == NULL;
    if (!usable || text[1] != '\0')
        argp_error(
            state,
            "--delimiter must be tab or a character that does not occur in numbers, not '%s'",
            text);
    return text[0];
}

/* Prints the help that KEY requests, for the COUNT tables in LIST, and exits. */
static void print_help(int key, struct argp_state *state, const struct argp *const *list,
                       size_t count)
{
    if (key == KEY_HELP)
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    else if (key == KEY_USAGE)
        tool_print_usage(list, count);
    else if (key == 'V')
        puts(argp_program_version);
    else
        tool_print_brief(list, count, state->input);
    exit(EXIT_OK);
}

error_t tool_take_help(int key, struct argp_state *state)
{
    if (key != 'h' && key != 'V' && key != KEY_HELP && key != KEY_USAGE)
        return ARGP_ERR_UNKNOWN;
    print_help(key, state, &state->root_argp, 1);
    return 0;
}

/* The tables are the children of the parser of tool_parse: the tool's own, the common ones, and then those shared with
 * some other tools. */
static void print_common_help(int key, struct argp_state *state)
{
    enum { MAX_TABLES = 16 };
    const struct argp *list[MAX_TABLES];
    const struct argp_child *all = state->root_argp->children;
    size_t count = 0;
    for (size_t i = 0; all[i].argp != NULL && count < MAX_TABLES - 1; i++)
        if (i != 1)
            list[count++] = all[i].argp;
    list[count++] = all[1].argp;
    print_help(key, state, list, count);
}

static const struct tool_setting settings[] = {
    SET_FLAG('q', struct tool_common, reporter.quiet),
    SET_FLAG(KEY_VERBOSE, struct tool_common, reporter.verbose),
    SET_FLAG(KEY_STRICT, struct tool_common, reporter.strict),
    SET_FLAG(KEY_BZIP2, struct tool_common, bzip2),
    SET_FLAG(KEY_SALVAGE, struct tool_common, salvage),
    SET_TEXT(KEY_VALUE, struct tool_common, value),
    SET_FLAG(KEY_WIDE, struct tool_common, table.wide),
    SET_TEXT(KEY_COLUMNS, struct tool_common, table.columns),
    SET_FLAG(KEY_TOTAL, struct tool_common, table.total),
    SET_FLAG(KEY_CRLF, struct tool_common, table.crlf),
    SET_TEXT(KEY_LABEL_NONE, struct tool_common, table.none),
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tool_common *common = state->input;
    switch (key) {
    case KEY_COLOR:
        common->color = color_of(argument, state);
        return 0;
    case KEY_MAX_MEMORY:
        common->max_memory = size_of(argument, state);
        return 0;
    case 'o':
        if (argument[0] == '\0')
            argp_error(state, "-o needs the name of a file");
        common->output = argument;
        return 0;
    case KEY_FORMAT:
        tool_choose(state, "--format", common->formats, argument);
        common->format = argument;
        return 0;
    case KEY_DELIMITER:
        common->table.delimiter = delimiter_of(argument, state);
        return 0;
    case 'h':
    case KEY_HELP:
    case KEY_USAGE:
    case 'V':
        print_common_help(key, state);
        return 0;
    default:
        return tool_set(settings, common, key, argument, state);
    }
}

enum { LIST_SIZE = 256 };

/* Lists NAMES as "a, b or c". */
static void list_names(char text[LIST_SIZE], tool_names *names)
{
    size_t used = (size_t)snprintf(text, LIST_SIZE, "%s", names(0));
    for (size_t i = 1; names(i) != NULL && used < LIST_SIZE; i++)
        used += (size_t)snprintf(text + used, LIST_SIZE - used, "%s %s",
                                 names(i + 1) != NULL ? "," : " or", names(i));
}

/* Inserts the table's list of formats into the help. */
static char *help_filter(int key, const char *text, void *input)
{
    const struct tool_common *common = input;
    if (key != KEY_FORMAT)
        return (char *)text;
    char list[LIST_SIZE];
    list_names(list, common->formats);
    return mem_printf("%s (default: by FILE's suffix, else %s)", list, common->formats(0));
}

static const struct argp common_argp = {.options = common_options, .parser = parse},
                         output_argp = {.options = output_options, .parser = parse},
                         salvage_argp = {.options = salvage_options, .parser = parse},
                         value_argp = {.options = value_options, .parser = parse},
                         table_argp = {.options = table_options, .parser = parse},
                         strict_argp = {.options = strict_options, .parser = parse},
                         format_argp = {.options = format_options,
                                        .parser = parse,
                                        .help_filter = help_filter};

/* The parent of the parser of the tool and the common ones: all of them get the same input. */
struct parsing {
    struct argp_child children[9];
    size_t count;
    void *input;
};

static error_t hand_down(int key, char *argument, struct argp_state *state)
{
    const struct parsing *parsing = state->input;
    (void)argument;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    for (size_t i = 0; i < parsing->count; i++)
        state->child_inputs[i] = parsing->input;
    return 0;
}

/* Limits private memory rather than address space, because large files may be mapped. Keeps a lower
 * limit set by the caller. */
static void limit_memory(uint64_t most)
{
    struct rlimit limit;
    if (most == 0 || ADDRESS_SANITIZER || getrlimit(RLIMIT_DATA, &limit) != 0 ||
        most >= limit.rlim_cur)
        return;
    limit.rlim_cur = (rlim_t)most;
    setrlimit(RLIMIT_DATA, &limit);
}

static uint64_t quarter_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 4 : 0;
}

static void read_command_line(const struct argp *argp, unsigned flags, int argc, char **argv,
                              void *input)
{
    argv[0] = program_invocation_short_name; /* before messages, whatever the path of the tool */
    error_t failed = argp_parse(argp, argc, argv, flags | ARGP_NO_HELP, NULL, input);
    if (failed != 0) { /* out of memory: options may be lost */
        fprintf(stderr, "%s: cannot read the command line: %s\n", argv[0], strerror(failed));
        exit(EXIT_DATA);
    }
}

void tool_parse_only(const struct argp *argp, int argc, char **argv, void *input)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    tool_guard_streams();
    argp_err_exit_status = EXIT_USAGE;
    /* for the output of options that exit, such as --help */
    sigaction(SIGPIPE, &ignore, &before);
    read_command_line(argp, ARGP_IN_ORDER, argc, argv, input);
    sigaction(SIGPIPE, &before, NULL);
}

void tool_parse(const struct argp *argp, unsigned shared, int argc, char **argv, void *input)
{
    struct parsing parsing = {
        .children = {{.argp = argp}, {.argp = &common_argp}}, .count = 2, .input = input};
    static const struct {
        unsigned option;
        const struct argp *argp;
    } choice[] = {{TOOL_OUTPUT, &output_argp},   {TOOL_FORMAT, &format_argp},
                  {TOOL_TABLE, &table_argp},     {TOOL_VALUE, &value_argp},
                  {TOOL_SALVAGE, &salvage_argp}, {TOOL_STRICT, &strict_argp}};
    for (size_t i = 0; i < sizeof choice / sizeof choice[0]; i++)
        if ((shared & choice[i].option) != 0)
            parsing.children[parsing.count++].argp = choice[i].argp;
    ((struct tool_common *)input)->max_memory = quarter_of_memory();
    const struct argp whole = {.parser = hand_down, .children = parsing.children};
    unsigned flags = (shared & TOOL_IN_ORDER) != 0 ? ARGP_IN_ORDER : 0;
    read_command_line(&whole, flags, argc, argv, &parsing);
    descriptors_raise();
    limit_memory(((struct tool_common *)input)->max_memory);
}

size_t tool_choose(struct argp_state *state, const char *option, tool_names *names,
                   const char *name)
{
    char list[LIST_SIZE];
    size_t number = 0;
    list_names(list, names);
    while (names(number) != NULL && strcmp(names(number), name) != 0)
        number++;
    if (names(number) == NULL)
        argp_error(state, "%s must be %s, not '%s'", option, list, name);
    return number;
}

bool tool_either(struct argp_state *state, const char *option, const char *text, const char *no,
                 const char *yes)
{
    if (strcmp(text, no) != 0 && strcmp(text, yes) != 0)
        argp_error(state, "%s must be %s or %s, not '%s'", option, no, yes, text);
    return strcmp(text, yes) == 0;
}

void tool_only_input(struct argp_state *state, const char *what, const char **input,
                     const char *argument)
{
    if (*input != NULL)
        argp_error(state, "more than one %s: '%s'", what, argument);
    *input = argument;
}

void tool_append(const char ***list, size_t *count, size_t *capacity, const char *argument)
{
    *MEM_APPEND(*list, *count, *capacity) = argument;
}

double tool_number(struct argp_state *state, const char *option, const char *text, double least,
                   double most)
{
    double value = 0;
    if (!parse_double(text, least, most, &value))
        argp_error(state, "%s must be a number from %g to %g, not '%s'", option, least, most, text);
    return value;
}

uint64_t tool_whole(struct argp_state *state, const char *option, const char *text, uint64_t least,
                    uint64_t most)
{
    char range[64];
    uint64_t value = 0;
    if (most < UINT32_MAX)
        snprintf(range, sizeof range, "from %" PRIu64 " to %" PRIu64, least, most);
    else /* no limit in practice */
        snprintf(range, sizeof range, ">= %" PRIu64, least);
    if (!parse_unsigned(text, least, most, &value))
        argp_error(state, "%s must be an integer %s, not '%s'", option, range, text);
    return value;
}

error_t tool_set(const struct tool_setting *table, void *options, int key, const char *argument,
                 struct argp_state *state)
{
    const struct tool_setting *t = table;
    while (t->key != 0 && t->key != key)
        t++;
    if (t->key == 0)
        return ARGP_ERR_UNKNOWN;
    void *member = (char *)options + t->offset;
    switch (t->kind) {
    case TOOL_SETS_FLAG:
        *(bool *)member = true;
        break;
    case TOOL_SETS_TEXT:
        *(const char **)member = argument;
        break;
    case TOOL_SETS_LETTER:
        *(char *)member = (char)key;
        break;
    case TOOL_SETS_WHOLE:
        *(size_t *)member = (size_t)tool_whole(state, t->option, argument, t->least, t->most);
        break;
    case TOOL_SETS_NUMBER:
        *(double *)member = tool_number(state, t->option, argument, t->low, t->high) / t->unit;
        break;
    }
    return 0;
}
