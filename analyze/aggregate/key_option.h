/* The options -k, --kernel, --filter and --exclude, for tools whose rows have keys.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_KEY_OPTION_H
#define ANALYZE_AGGREGATE_KEY_OPTION_H

#include <argp.h>

#include "analyze/attribute/selection.h"
#include "formats/pbin/pbin.h"

/* Parses LIST, names joined by commas; an invalid list is a usage error. A pc becomes an offset in its binary. Keys
 * that are ambiguous alone are preceded by another key: pc and basic-block by binary, and line without file by the
 * innermost function. */
void keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state);

/* The option --kernel: its line in the table of options, and its parser. */
#define KERNEL_OPTION(key, group)                                                                  \
    {                                                                                              \
        "kernel", key, "WHO", 0,                                                                   \
            "Count time in the kernel as its own (default), or as that of the caller: the user "   \
            "code that called it",                                                                 \
            group                                                                                  \
    }
void kernel_option(struct pbin_keys *keys, const char *argument, struct argp_state *state);

/* Adds the condition TEXT of --filter or --exclude; an invalid one is a usage error. TEXT is borrowed. */
void filter_option(struct selection *selection, const char *text, bool exclude,
                   struct argp_state *state);

#endif
