/* Selects samples by filters on keys, by a window of time, and by a phase between entries into a
 * marker function.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_SELECTION_H
#define ANALYZE_ATTRIBUTE_SELECTION_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A condition on a key: a glob or an extended regular expression. */
struct filter {
    int key; /* number of the key, see pbin_key_get */
    bool exclude;
    bool is_function; /* the key is a function name */
    const char *glob; /* NULL: use REGEX */
    regex_t regex;
};

struct selection {
    struct filter *filters;
    size_t filter_count, filter_capacity;
    bool exclude_external; /* keep only the target binary */
    bool has_window;
    double start, end; /* [s] since the first sample; start <= t < end */
    const char *phase; /* marker function: each entry into it begins a phase; NULL: all */
    /* N: from entry N to entry N + 1; 0: from the first entry to the end */
    uint64_t phase_number;
};

/* Adds the condition TEXT, "KEY=GLOB" or "KEY~REGEX", which is borrowed. Returns NULL, or a static
 * text that describes the error. */
const char *selection_add(struct selection *selection, const char *text, bool exclude);
void selection_free(struct selection *selection);

/* Returns whether GLOB matches the function NAME, or is the same text. Tries the name with and
 * without parameters, and with <...> in place of template arguments, as tables and suggestions show
 * it: "sort<int*>(int*, int*)", "sort<int*>", "sort<...>". */
bool function_matches(const char *glob, const char *name);

/* Returns whether the row whose keys are TEXT_OF(context, key) passes the filters. If several
 * filters include rows by the same key, one of them must match. Filters on different keys must all
 * match. A row that matches any excluding filter is excluded. */
typedef const char *key_text(void *context, int key);
bool selection_passes(const struct selection *selection, key_text *text_of, void *context);

#endif
