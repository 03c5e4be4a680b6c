/* The common part of all command lines; used only by files with a main and their options.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TOOL_H
#define BASE_TOOL_H

#include <argp.h>
#include <stddef.h>

#include "base/output.h"
#include "base/report.h"
#include "base/table_style.h"
#include "base/tool_help.h"

/* Groups of the common options in argp's help; a tool numbers its own groups from 1. */
enum { TOOL_TABLES = 80, TOOL_FILES = 90, TOOL_GROUP = 100 };

/* Keys of the common options that have no letter, and the first key for those of a tool. */
enum {
    KEY_VERBOSE = 0x1000,
    KEY_COLOR,
    KEY_BZIP2,
    KEY_FORMAT,
    KEY_SALVAGE,
    KEY_STRICT,
    KEY_VALUE,
    KEY_MAX_MEMORY,
    KEY_WIDE,
    KEY_COLUMNS,
    KEY_TOTAL,
    KEY_CRLF,
    KEY_DELIMITER,
    KEY_LABEL_NONE,
    KEY_HELP,
    KEY_USAGE,
    KEY_TOOL_FIRST = 0x1100
};

/* Common options that a tool can have in addition to -q, --verbose, --color, --max-memory and -h. */
enum tool_options {
    TOOL_OUTPUT = 1,  /* -o, --bzip2 */
    TOOL_SALVAGE = 2, /* --salvage */
    TOOL_STRICT = 4,  /* --strict */
    TOOL_FORMAT = 8,  /* --format, one of FORMATS */
    TOOL_IN_ORDER =
        16, /* the order of files and options matters: the parser gets them in that order */
    TOOL_VALUE = 32, /* --value */
    TOOL_TABLE = 64, /* --wide, --columns, --total, --crlf, --delimiter, --label-none */
};

/* A list of names by number; NULL after the last. */
typedef const char *tool_names(size_t number);

/* The first member of a tool's options. */
struct tool_common {
    struct reporter reporter;
    int color; /* 1: always, 0: never, -1: if stdout is a terminal and NO_COLOR is not set */
    tool_names *formats;      /* set by the tool before parsing; the first is the default */
    const char *output;       /* NULL or "-": stdout */
    const char *format;       /* NULL: not given */
    const char *value;        /* --value, NULL: not given */
    struct table_style table; /* its width is set by tool_style */
    uint64_t max_memory;      /* [bytes], 0: no limit; enforced by tool_parse */
    bool bzip2, salvage;
};

/* Ensures that no file takes the descriptor of a closed stdin, stdout or stderr, and that the tool fails if it
 * exits with text that could not be written to stdout. Called by tool_start. */
void tool_guard_streams(void);

/* Prepares signals and argp for a tool called NAME: writing to a closed pipe ends the tool normally instead of by a
 * signal, and usage errors exit with EXIT_USAGE. */
void tool_start(struct tool_common *common, const char *name);

/* Parses the common options, those of SHARED (enum tool_options) and those of ARGP, whose parser gets INPUT, a struct
 * that begins with the struct tool_common. Usage errors end the program. From here on, memory is limited to
 * --max-memory (default: a quarter of the machine's memory); exceeding it ends the program with one error message. */
void tool_parse(const struct argp *argp, unsigned shared, int argc, char **argv, void *input);

/* For tools whose options are followed by a command to run, and that have none of the common
 * options. Starts the tool, as tool_start does, and parses the options of ARGP, whose parser gets
 * INPUT. Usage errors end the program. SIGPIPE is ignored only during the call, so that the command
 * inherits it unchanged. */
void tool_parse_only(const struct argp *argp, int argc, char **argv, void *input);

/* For parsers of these tools: acts on -h, --help, --usage and --version, with
 * argp_program_version, and exits. Returns ARGP_ERR_UNKNOWN for other keys. */
error_t tool_take_help(int key, struct argp_state *state);

/* For parsers: sets *INPUT to ARGUMENT, the path of a WHAT; a second one is a usage error. */
void tool_only_input(struct argp_state *state, const char *what, const char **input,
                     const char *argument);

/* For parsers: appends ARGUMENT to *LIST, which has *COUNT elements and room for *CAPACITY. Caller
 * frees the list. */
void tool_append(const char ***list, size_t *count, size_t *capacity, const char *argument);

/* For parsers; a bad argument is a usage error. tool_choose returns the number of NAME, given for
 * OPTION, among NAMES. tool_number and tool_whole return TEXT, given for OPTION, as a number or an
 * integer from LEAST to MOST. */
size_t tool_choose(struct argp_state *state, const char *option, tool_names *names,
                   const char *name);
/* TEXT, given for OPTION, must be NO or YES; returns whether it is YES. */
bool tool_either(struct argp_state *state, const char *option, const char *text, const char *no,
                 const char *yes);
double tool_number(struct argp_state *state, const char *option, const char *text, double least,
                   double most);
uint64_t tool_whole(struct argp_state *state, const char *option, const char *text, uint64_t least,
                    uint64_t most);

/* An option that only sets a member of the tool's options. */
struct tool_setting {
    int key;
    enum {
        TOOL_SETS_FLAG,
        TOOL_SETS_TEXT,
        TOOL_SETS_LETTER,
        TOOL_SETS_WHOLE,
        TOOL_SETS_NUMBER
    } kind;
    size_t offset;      /* of the member */
    const char *option; /* a number: its name, limits, and how many make 1 in the member */
    size_t least, most;
    double low, high, unit;
};

/* Elements of a table of settings, which ends with {0}: the option with KEY sets MEMBER of TYPE.
 * SET_FLAG: a bool, to true. SET_TEXT: a const char *, to the argument. SET_LETTER: a char, to KEY.
 * SET_WHOLE: a size_t, from LEAST to MOST. SET_NUMBER: a double, from LOW to HIGH; SET_PERCENT: a
 * double, to a hundredth of the argument, which is from 0 to HIGH. A member of another type does
 * not compile. */
#define TOOL_MEMBER(type, member, kind)                                                            \
    (offsetof(type, member) + 0 * sizeof(&((type *)0)->member == (kind *)0))
#define SET_FLAG(option_key, type, member)                                                         \
    {                                                                                              \
        .key = (option_key), .kind = TOOL_SETS_FLAG, .offset = TOOL_MEMBER(type, member, bool)     \
    }
#define SET_TEXT(option_key, type, member)                                                         \
    {                                                                                              \
        .key = (option_key), .kind = TOOL_SETS_TEXT,                                               \
        .offset = TOOL_MEMBER(type, member, const char *)                                          \
    }
#define SET_LETTER(option_key, type, member)                                                       \
    {                                                                                              \
        .key = (option_key), .kind = TOOL_SETS_LETTER, .offset = TOOL_MEMBER(type, member, char)   \
    }
#define SET_WHOLE(key, type, member, option, least, most)                                          \
    {                                                                                              \
        key, TOOL_SETS_WHOLE, TOOL_MEMBER(type, member, size_t), option, least, most, 0, 0, 1      \
    }
#define SET_NUMBER(key, type, member, option, low, high)                                           \
    {                                                                                              \
        key, TOOL_SETS_NUMBER, TOOL_MEMBER(type, member, double), option, 0, 0, low, high, 1       \
    }
#define SET_PERCENT(key, type, member, option, high)                                               \
    {                                                                                              \
        key, TOOL_SETS_NUMBER, TOOL_MEMBER(type, member, double), option, 0, 0, 0, high, 100       \
    }

/* For parsers: if KEY is in TABLE, sets its member of OPTIONS; a bad argument is a usage error.
 * Returns 0, or ARGP_ERR_UNKNOWN if KEY is not in TABLE. */
error_t tool_set(const struct tool_setting *table, void *options, int key, const char *argument,
                 struct argp_state *state);

/* Opens the output that -o and --bzip2 specify; FLAGS and the result are those of output_open. */
struct output *tool_output(const struct tool_common *common, unsigned flags, struct error *err);

/* Ends OUT, the result of tool_output, after writing to it with RESULT (0 or -1). It is committed
 * if RESULT is 0, unless there were warnings and they are errors (--strict); otherwise it is
 * discarded. Returns RESULT, or -1 if OUT is NULL or could not be committed. */
int tool_commit(const struct tool_common *common, struct output *out, int result);

/* The style of tables for the output, with its width set: on stdout, $COLUMNS or else the width of the terminal.
 * Files, and pipes without $COLUMNS, have no width, so that their contents do not depend on a window. Borrowed from
 * COMMON. */
const struct table_style *tool_style(struct tool_common *common);

/* Returns whether the output is to be coloured. Files and compressed output never are. */
bool tool_color(const struct tool_common *common);

/* Returns the exit status for RESULT (0 or -1). Prints ERR if RESULT is -1, unless the cause is that the reader of
 * stdout closed the pipe. With --strict, warnings are errors. */
int tool_end(const struct tool_common *common, int result, const struct error *err);

#endif
