/* Errors and warnings on stderr: "tool: file: 0x1a40: description".
 * SPDX-License-Identifier: MIT */
#ifndef BASE_REPORT_H
#define BASE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Exit status of every tool. */
enum { EXIT_OK = 0, EXIT_DATA = 1, EXIT_USAGE = 2 };

/* At most MAX_PRINTED_WARNINGS warnings of a kind are printed; the others are only counted. */
enum { MAX_PRINTED_WARNINGS = 10, WARNING_KINDS = 16 };

/* A warning that is held back. */
struct held_warning;

/* The messages of a tool on stderr. Libraries get a pointer to it, and use it only to warn. */
struct reporter {
    const char *tool;          /* name before every message */
    bool quiet;                /* -q: no warnings, no progress */
    bool verbose;              /* --verbose: report each step */
    bool no_bar;               /* no progress bar: other threads would draw over it */
    bool strict;               /* --strict: any warning makes the tool exit with EXIT_DATA */
    size_t warnings;           /* number of warnings, printed or not */
    size_t unprinted;          /* number of warnings not printed because there were too many */
    size_t firsts;             /* number of calls of report_first, by all threads that share it */
    size_t *all_firsts;        /* the FIRSTS of all threads; NULL: that of this reporter */
    bool holds;                /* between report_hold and report_held ... */
    size_t turn;               /* ... of this turn */
    struct held_warning *held; /* in their order */
    size_t held_count, held_capacity;
    struct {
        const char *format; /* identifies the kind */
        size_t count;
    } kinds[WARNING_KINDS];
};

/* Prints ERR to stderr, even if quiet. Returns EXIT_USAGE if the command line is wrong, otherwise
 * EXIT_DATA. */
int report_error(const struct reporter *reporter, const struct error *err);

/* Counts a warning, and prints it to stderr unless quiet or too many of its kind have been
 * printed. */
void report_warning(struct reporter *reporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Between report_hold and report_held, warnings are held back until report_release counts and
 * prints them. For work that begins before its TURN, so that warnings appear in the order of the
 * results. Turns ascend; report_release releases the warnings of all turns up to TURN. */
void report_hold(struct reporter *reporter, size_t turn);
void report_held(struct reporter *reporter);
void report_release(struct reporter *reporter, size_t turn);

/* If PATH is standard input (NULL or "-") and is a terminal, prints that the tool is waiting for WHAT, unless quiet. */
void report_awaited(const struct reporter *reporter, const char *path, const char *what);

/* Returns whether descriptor FD interprets escape sequences, that is, is a terminal that is not
 * dumb. */
bool report_may_escape(int fd);

/* Like report_warning, for a kind that can affect many files: prints only the first. */
void report_first(struct reporter *reporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the number of unprinted warnings, if there are any; call it at the end. */
void report_unprinted(const struct reporter *reporter);

/* Prints to stderr if verbose and not quiet. */
void report_verbose(const struct reporter *reporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
