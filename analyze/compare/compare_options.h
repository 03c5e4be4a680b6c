/* The command line of pbin-compare.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_COMPARE_OPTIONS_H
#define ANALYZE_COMPARE_COMPARE_OPTIONS_H

#include "analyze/attribute/name_rules.h"
#include "analyze/attribute/selection.h"
#include "analyze/compare/fail_if.h"
#include "analyze/compare/report_compare.h"
#include "base/tool.h"

/* A file and the number of its run set. Files are in the order of the run sets. */
struct compare_input {
    const char *path;
    size_t set;
};

struct compare_command {
    struct tool_common common;
    struct compare_options compare;
    struct compare_report report;
    const char *name_list;
    const char *names[MAX_RUN_SETS];
    char *owned_names;
    struct compare_input *inputs;
    size_t input_count, input_capacity, set_count;
    bool grouped, keys_given, started; /* --base or --with was given; -k was; a run set is open */
    struct name_rules rules;
    struct selection selection;
    struct binary_map *maps;
    size_t map_capacity;
    struct fail_if *conditions;
    size_t condition_count, condition_capacity;
};

/* Parses ARGV into OPTIONS, which borrow texts from ARGV. Usage errors end the program. */
void compare_options_parse(struct compare_command *options, int argc, char **argv);
void compare_options_free(struct compare_command *options);

#endif
