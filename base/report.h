/* Errors and warnings on stderr: "tool: file: 0x1a40: what is wrong".
 * SPDX-License-Identifier: MIT */
#ifndef BASE_REPORT_H
#define BASE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Exit status of every tool. */
enum { EXIT_OK = 0, EXIT_DATA = 1, EXIT_USAGE = 2 };

/* At most this many warnings of one kind are printed; the rest is counted. */
enum { MAX_PRINTED_WARNINGS = 10, WARNING_KINDS = 16 };

/* What a tool prints on stderr. Passed down by pointer; libraries use it only to warn. */
struct reporter {
    const char *tool;   /* name in front of every message */
    bool quiet;         /* -q: no warnings, no progress */
    bool verbose;       /* --verbose: report each step */
    bool no_bar;        /* no progress bar: other threads would draw over it */
    bool strict;        /* --strict: any warning makes the tool exit with EXIT_DATA */
    size_t warnings;    /* number of warnings, printed or not */
    size_t unprinted;   /* of those, what was too many of one kind */
    size_t firsts;      /* number of calls of report_first, by all threads where they share */
    size_t *all_firsts; /* FIRSTS of the reporter of all threads; NULL: its own */
    struct {
        const char *format; /* identifies the kind */
        size_t count;
    } kinds[WARNING_KINDS];
};

/* Prints ERR to stderr, always. Returns EXIT_DATA. */
int report_error(const struct reporter *reporter, const struct error *err);

/* Counts a warning and prints it to stderr unless quiet, or too many of its kind have been. */
void report_warning(struct reporter *reporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* If PATH is standard input (NULL or "-") and that is a terminal: prints that WHAT is awaited, unless quiet. */
void report_awaited(const struct reporter *reporter, const char *path, const char *what);

/* Does descriptor FD show escape sequences: a terminal that is not dumb? */
bool report_may_escape(int fd);

/* The same for a kind that many files have: only the first is printed. */
void report_first(struct reporter *reporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints how many warnings were too many, if any; at the end. */
void report_unprinted(const struct reporter *reporter);

/* Prints to stderr when verbose (and not quiet). */
void report_verbose(const struct reporter *reporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
