/* Rules that rewrite the names of functions and files before rows are made, so that code with the
 * same new name becomes one row.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_NAME_RULES_H
#define ANALYZE_ATTRIBUTE_NAME_RULES_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero: names are unchanged. Texts are borrowed. */
struct name_rules {
    bool no_demangle;    /* use the names that linkers use; other rules apply to these */
    bool short_names;    /* omit parameters and template arguments */
    bool join_clones;    /* f.cold, f.part.0 and f [clone .isra.0] become f */
    const char **maps;   /* OLD=NEW: replaces the folder OLD by NEW; the first match counts */
    const char **strips; /* folders to remove from paths; the first match counts */
    size_t map_count, strip_count;
};

/* Returns whether any rule changes names of functions or files; false for NULL. */
bool name_rules_any(const struct name_rules *rules);

/* Returns whether the rules change texts of the key called KEY. */
bool name_rules_apply(const struct name_rules *rules, const char *key);

/* Applies the rules to TEXT, a value of KEY: a function, a chain of functions, or a path, from
 * which "." and ".." and repeated slashes are also removed. The caller frees the result. */
char *name_rules_rewrite(const struct name_rules *rules, const char *key, const char *text);

void name_rules_free(struct name_rules *rules);

/* Returns whether rows get linkage names for the key called KEY; false if RULES is NULL. */
bool name_rules_linkage(const struct name_rules *rules, const char *key);

/* Child parser for --no-demangle, --short-names, --join-clones, --strip-prefix and --map-prefix.
 * Its input is a zeroed struct name_rules. */
extern const struct argp name_rules_argp;

#endif
