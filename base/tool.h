/* What every tool's command line has in common; used by the files with a main and their options only.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TOOL_H
#define BASE_TOOL_H

#include <argp.h>

#include "base/output.h"
#include "base/report.h"

/* Groups of the common options in argp's help; a tool's own are numbered from 1 on. */
enum { TOOL_FILES = 90, TOOL_GROUP = 100 };

/* Keys of the common long options that have no letter, and where each tool's own may begin. */
enum {
    KEY_VERBOSE = 0x1000,
    KEY_COLOR,
    KEY_BZIP2,
    KEY_FORMAT,
    KEY_SALVAGE,
    KEY_STRICT,
    KEY_TOOL_FIRST = 0x1100
};

/* Options beside -q, --verbose, --color and -h that a tool asks for. */
enum tool_options {
    TOOL_OUTPUT = 1,  /* -o, --bzip2 */
    TOOL_SALVAGE = 2, /* --salvage */
    TOOL_STRICT = 4,  /* --strict */
    TOOL_FORMAT = 8,  /* --format, one of FORMATS */
    TOOL_IN_ORDER =
        16, /* files and options mean something by their order: the parser gets them as they come */
};

/* A list of names by number, NULL past the last. */
typedef const char *tool_names(size_t number);

/* The first member of what a tool keeps of its options. */
struct tool_common {
    struct reporter reporter;
    int color; /* 1 always, 0 never, -1: where stdout is a terminal and NO_COLOR is not set */
    tool_names *formats; /* the tool fills it in before it parses; the first is the usual one */
    const char *output;  /* NULL or "-": stdout */
    const char *format;  /* NULL: not given */
    bool bzip2, salvage;
};

/* Makes sure that no file that is opened takes the place of a closed stdin, stdout or stderr, and that an exit
 * with text that stdout did not take fails. tool_start does it. */
void tool_guard_streams(void);

/* Prepares signals and argp for a tool called NAME: a closed pipe is an error message instead of a silent death,
 * usage errors exit with EXIT_USAGE. */
void tool_start(struct tool_common *common, const char *name);

/* Parses the common options, those of SHARED (tool_options) and those of ARGP, whose parser gets INPUT: a struct
 * that begins with the struct tool_common. Usage errors end the program. */
void tool_parse(const struct argp *argp, unsigned shared, int argc, char **argv, void *input);

/* For parsers; what does not fit is a usage error. The number of NAME, a WHAT, among NAMES; TEXT as a number, or a
 * whole number, from LEAST to MOST, for OPTION. */
size_t tool_choose(struct argp_state *state, const char *what, tool_names *names, const char *name);
double tool_number(struct argp_state *state, const char *option, const char *text, double least,
                   double most);
uint64_t tool_whole(struct argp_state *state, const char *option, const char *text, uint64_t least,
                    uint64_t most);

/* "a, bLAST c" of NAMES, where LAST is " and" or " or". */
enum { TOOL_LIST_SIZE = 256 };
void tool_name_list(char text[TOOL_LIST_SIZE], tool_names *names, const char *last);

/* Opens what -o and --bzip2 say; FLAGS and the result are those of output_open. */
struct output *tool_output(const struct tool_common *common, unsigned flags, struct error *err);

/* Should output to stdout be coloured? Not when it goes to a file or through a compressor. */
bool tool_color(const struct tool_common *common);

/* Exit status for a run that ended with RESULT (0 or -1): prints ERR when it failed; warnings count under
 * --strict. */
int tool_end(const struct tool_common *common, int result, const struct error *err);

#endif
