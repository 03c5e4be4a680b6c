/* Messages for the person at the terminal: "tool: file: 0x1a40: what is wrong".
 * SPDX-License-Identifier: MIT */
#ifndef BASE_REPORT_H
#define BASE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Exit status of every tool. */
enum { EXIT_OK = 0, EXIT_DATA = 1, EXIT_USAGE = 2 };

/* Where and whether a tool talks. Passed down by pointer; libraries only warn through it. */
struct reporter {
    const char *tool; /* name in front of every message */
    bool quiet;       /* -q: no warnings, no progress */
    bool verbose;     /* tell what is being done */
    bool no_bar;      /* no progress: others at work on the same terminal would draw over it */
    bool strict;      /* warnings count: the tool ends with EXIT_DATA when there were any */
    size_t warnings;  /* how many warnings there were, printed or not */
};

/* Prints ERR to stderr, always. Returns EXIT_DATA. */
int report_error(const struct reporter *reporter, const struct error *err);

/* Counts a warning and prints it to stderr unless quiet. */
void report_warning(struct reporter *reporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints to stderr when verbose (and not quiet). */
void report_verbose(const struct reporter *reporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
