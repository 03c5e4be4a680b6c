/* Rules that rewrite names of functions and files before rows are made, so that code with the same new name is one
 * row.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_NAME_RULES_H
#define ANALYZE_ATTRIBUTE_NAME_RULES_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero: names are unchanged. Texts are borrowed. */
struct name_rules {
    bool no_demangle;    /* the names that linkers know; rules that rewrite names see these */
    bool short_names;    /* without parameters and template arguments */
    bool join_clones;    /* f.cold, f.part.0 and f [clone .isra.0] are f */
    const char **maps;   /* OLD=NEW: replaces the folder OLD by NEW; the first match counts */
    const char **strips; /* folders that are removed from paths; the first match counts */
    size_t map_count, strip_count;
};

/* Does any rule change the names of functions or files? NULL is allowed: no. */
bool name_rules_any(const struct name_rules *rules);

/* Do the rules change texts of the key called KEY? */
bool name_rules_apply(const struct name_rules *rules, const char *key);

/* Applies the rules to TEXT, a value of KEY: a function, a chain of functions, or a path, from which "." and ".." and
 * doubled slashes are also removed. Caller frees. */
char *name_rules_rewrite(const struct name_rules *rules, const char *key, const char *text);

void name_rules_free(struct name_rules *rules);

/* Do rows get linkage names for the key called KEY? RULES may be NULL: no. */
bool name_rules_linkage(const struct name_rules *rules, const char *key);

/* Child parser for --no-demangle, --short-names, --join-clones, --strip-prefix and --map-prefix, whose input is a
 * zeroed struct name_rules. */
extern const struct argp name_rules_argp;

#endif
