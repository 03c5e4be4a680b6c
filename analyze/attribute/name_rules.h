/* How names of functions and files are rewritten before rows are made of them, so that rows with the same name are one.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_NAME_RULES_H
#define ANALYZE_ATTRIBUTE_NAME_RULES_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero: names stay as they are. Texts are borrowed. */
struct name_rules {
    bool short_names;    /* without parameters and template arguments */
    bool join_clones;    /* f.cold, f.part.0 and f [clone .isra.0] are f */
    const char **maps;   /* OLD=NEW: paths below OLD are below NEW; the first that fits */
    const char **strips; /* folders that paths are relative to; the first that fits */
    size_t map_count, strip_count;
};

/* Does any rule change the names of functions or files? NULL is allowed: no. */
bool name_rules_any(const struct name_rules *rules);

/* Do the rules change texts of the key called KEY? */
bool name_rules_apply(const struct name_rules *rules, const char *key);

/* TEXT of KEY by the rules: of a function, of a chain of them, or of a path, which is also without "." and ".." and doubled
 * slashes then. Caller frees. */
char *name_rules_rewrite(const struct name_rules *rules, const char *key, const char *text);

void name_rules_free(struct name_rules *rules);

/* Child parser for --short-names, --join-clones, --strip-prefix and --map-prefix, whose input is a zeroed struct name_rules. */
extern const struct argp name_rules_argp;

#endif
