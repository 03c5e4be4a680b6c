/* The command line of pbin-aggregate.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_AGGREGATE_OPTIONS_H
#define ANALYZE_AGGREGATE_AGGREGATE_OPTIONS_H

#include <argp.h>

#include "analyze/aggregate/inputs.h"
#include "analyze/aggregate/report_rows.h"
#include "base/tool.h"

struct aggregate_command {
    struct tool_common common;
    struct aggregate_options aggregate;
    struct selection selection;
    bool selects; /* SELECTION is not empty */
    struct report_options report;
    struct inputs inputs;
    struct elf_search search; /* of binaries */
    struct name_rules names;
    bool threads;
    const char *external_keys; /* NULL: binaries other than the target use the same keys */
    bool statics;              /* show energy as static + dynamic */
    double watts;              /* the baseline [W]; 0: as recorded */
    bool finds_lag;            /* --sensor-lag=auto */
    exact *static_energy;      /* [rows]; NULL: not shown */
};

extern const struct argp aggregate_argp;

#endif
