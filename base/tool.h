/* What every tool's command line has in common; used by the files with a main and their options only.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TOOL_H
#define BASE_TOOL_H

#include <argp.h>

#include "base/report.h"

/* Group of the common options in argp's help. */
enum { TOOL_GROUP = 100 };

/* Keys of the common long options that have no letter, and where each tool's own may begin. */
enum { KEY_VERBOSE = 0x1000, KEY_COLOR, KEY_TOOL_FIRST = 0x1100 };

/* -q, --verbose, --color: a child parser whose input is a struct tool_common. */
extern const struct argp tool_common_argp;

struct tool_common {
    struct reporter reporter;
    int color; /* 1 always, 0 never, -1: where stdout is a terminal and NO_COLOR is not set */
};

/* Makes sure that no file that is opened takes the place of a closed stdin, stdout or stderr, and that an exit
 * with text that stdout did not take fails. tool_start does it. */
void tool_guard_streams(void);

/* Prepares signals and argp for a tool called NAME: a closed pipe is an error message instead of a silent death,
 * usage errors exit with EXIT_USAGE. */
void tool_start(struct tool_common *common, const char *name);

/* Parses; PARSER's children should list tool_common_argp. INPUT goes to the tool's own parser. */
void tool_parse(const struct argp *argp, int argc, char **argv, void *input);
/* The same, where files and options mean something by their order: the parser gets them as they come. */
void tool_parse_in_order(const struct argp *argp, int argc, char **argv, void *input);

/* Should output to stdout be coloured? */
bool tool_color(const struct tool_common *common);

/* Exit status for a run that ended with RESULT (0 or -1): prints ERR when it failed; warnings count under
 * --strict. */
int tool_end(const struct tool_common *common, int result, const struct error *err);

#endif
