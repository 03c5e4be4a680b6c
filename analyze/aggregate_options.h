/* What pbin-aggregate is told, and options that other analyses share with it.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_OPTIONS_H
#define ANALYZE_AGGREGATE_OPTIONS_H

#include <argp.h>

#include "analyze/inputs.h"
#include "analyze/report_rows.h"
#include "base/tool.h"

struct tool_options {
    struct tool_common common;
    struct aggregate_options aggregate;
    struct selection selection;
    bool selects; /* SELECTION says something */
    struct report_options report;
    struct inputs inputs;
    const char *format, *output;
    bool bzip2, threads;
};

extern const struct argp aggregate_argp;

/* Parses LIST, names of keys joined by commas, into OPTIONS; reports misuse through STATE. */
void parse_keys(struct aggregate_options *options, const char *list, struct argp_state *state);

#endif
