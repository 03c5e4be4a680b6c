/* The options that several tools with rows by key share: -k, --kernel, --filter, --exclude,
 * --wall-time, --subtract-latency and --mode.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_ROW_OPTIONS_H
#define ANALYZE_AGGREGATE_ROW_OPTIONS_H

#include <argp.h>

#include "analyze/attribute/selection.h"
#include "analyze/attribute/weigh.h"
#include "formats/pbin/pbin.h"

/* Parses LIST, names of keys separated by commas; an invalid list is a usage error. A pc becomes an
 * offset in its binary. A key that is ambiguous on its own gets another key before it: the binary
 * for pc and basic-block, the innermost function for line without file. */
void keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state);

/* Parses LIST of --external-keys: rows of binaries other than the target have only these of KEYS,
 * and the keys of threads. Call it when all KEYS are known. */
void external_keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state);

/* The option --kernel: its line in the table of options. kernel_option parses its argument. */
#define KERNEL_OPTION(key, group)                                                                  \
    {                                                                                              \
        "kernel", key, "WHO", 0,                                                                   \
            "Charge time in the kernel to the kernel (own, default), or to the user code that "    \
            "called it (caller)",                                                                  \
            group                                                                                  \
    }
/* Parses ARGUMENT of --kernel, and sets the bit of this option in *GIVEN. */
void kernel_option(struct pbin_keys *keys, unsigned *given, const char *argument,
                   struct argp_state *state);

/* The lines of --wall-time, --subtract-latency and --mode in the table of options. ROWS: the tool's
 * name for its rows. */
#define WALL_TIME_OPTION(key, group)                                                               \
    {                                                                                              \
        "wall-time", key, NULL, 0,                                                                 \
            "Count the whole interval of a sample for every thread in it, running or not", group   \
    }
#define LATENCY_OPTION(key, group)                                                                 \
    {                                                                                              \
        "subtract-latency", key, "HOW", OPTION_ARG_OPTIONAL,                                       \
            "Subtract the sampler's own time from the intervals (HOW interval, the default), or "  \
            "from the time of each thread, as the original scripts did (thread)",                  \
            group                                                                                  \
    }
/* Parses HOW, the argument of --subtract-latency (may be NULL), and sets the bit of this option in
 * *GIVEN. */
void latency_option(struct weigh_options *weigh, unsigned *given, const char *how,
                    struct argp_state *state);

#define MODE_OPTION(key, flags, rows, group)                                                       \
    {                                                                                              \
        "mode", key, "MODE", flags,                                                                \
            "mean (default): each profile is a run, and " rows                                     \
            " are means; add: the profiles are shards of one run",                                 \
            group                                                                                  \
    }
/* Parses ARGUMENT of --mode. Returns whether profiles are added. */
bool mode_option(const char *argument, struct argp_state *state);

/* Adds the condition TEXT of --filter or --exclude; an invalid one is a usage error. TEXT is borrowed. */
void filter_option(struct selection *selection, const char *text, bool exclude,
                   struct argp_state *state);

#endif
