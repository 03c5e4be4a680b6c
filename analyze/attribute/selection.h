/* Which samples are selected: filters on keys, a window of time, a phase between entries into a marker function.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_SELECTION_H
#define ANALYZE_ATTRIBUTE_SELECTION_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One condition on one key: a glob, or an extended regular expression. */
struct filter {
    int key; /* number for pbin_key_get */
    bool exclude;
    bool is_function; /* the key is the name of a function */
    const char *glob; /* NULL: use REGEX */
    regex_t regex;
};

struct selection {
    struct filter *filters;
    size_t filter_count, filter_capacity;
    bool exclude_external; /* only the target binary */
    bool has_window;
    double start, end; /* [s] since the first sample; start <= t < end */
    const char *phase; /* marker function: each entry into it begins a phase; NULL: all */
    /* N: from entry N to entry N + 1; 0: from the first entry to the end */
    uint64_t phase_number;
};

/* Adds the condition TEXT, "KEY=GLOB" or "KEY~REGEX" (TEXT is borrowed). Returns NULL, or a static text that describes
 * the error. */
const char *selection_add(struct selection *selection, const char *text, bool exclude);
void selection_free(struct selection *selection);

/* Does GLOB match the function NAME, or is it the same text? With and without the parameters, and with <...> in place of
 * the arguments of templates, as tables and suggestions show it: "sort<int*>(int*, int*)", "sort<int*>", "sort<...>". */
bool function_matches(const char *glob, const char *name);

/* Does the row whose keys are TEXT_OF(context, key) pass the filters? If several filters include by the same key, one
 * must match; filters on different keys must all match; a match of any excluding filter excludes the row. */
typedef const char *key_text(void *context, int key);
bool selection_passes(const struct selection *selection, key_text *text_of, void *context);

#endif
