/* Patterns that choose functions of libraries: "libc.so.6:fsync|pwrite", "@FILE" with one such
 * pattern per line.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_PATTERNS_H
#define RECORD_FUNCMETER_PATTERNS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct meter_pattern {
    char *text;    /* as given */
    char *library; /* base name, or if it contains a slash, path; with wildcards as in file names */
    regex_t regex; /* POSIX extended; matches whole names */
    size_t files;  /* ELF files that matched, and functions in them; counted by the planner */
    size_t functions;
};

/* All zero: none. */
struct meter_patterns {
    struct meter_pattern *items;
    size_t count, capacity;
};

/* Adds the pattern TEXT, or those in the file @FILE, without empty lines and lines that begin with
 * #. Returns 0, or -1 with ERR filled. */
int meter_patterns_add(struct meter_patterns *patterns, const char *text, struct error *err);
void meter_patterns_free(struct meter_patterns *patterns);

/* Returns whether PATTERN chooses functions of the file at PATH, which is also called ALIAS (NULL:
 * no other name). */
bool meter_pattern_has_file(const struct meter_pattern *pattern, const char *path,
                            const char *alias);
/* Returns whether PATTERN chooses a function called NAME. */
bool meter_pattern_has_name(const struct meter_pattern *pattern, const char *name);

#endif
