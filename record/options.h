/* The command line of sampler.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include "base/report.h"
#include "record/engine.h"
#include "record/power.h"

struct options {
    char *out;               /* with its patterns replaced; NULL: only a summary */
    char *const *command;    /* ends with NULL; NULL: engine.attach lists what is sampled */
    const char *engine_name; /* "auto" or an engine in the table */
    struct engine_options engine;
    struct power_options power;
    char *pmu_specs; /* the arguments of -p, separated by spaces; or "none" */
    bool aggregate;  /* keep sums in memory, and write them at the end */
    bool debug;      /* print details at the end */
    struct reporter reporter;
};

/* Parses ARGV, whose strings are borrowed while OPTIONS is used. Ends the program after --help,
 * --version and --list-pmus, and with EXIT_USAGE after a usage error. */
void options_parse(struct options *options, int argc, char **argv);

/* Frees what OPTIONS owns. */
void options_free(struct options *options);

#endif
