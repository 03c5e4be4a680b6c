/* The command line of sampler.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include "base/report.h"
#include "record/engine.h"
#include "record/pmu.h"

struct options {
    const char *out;
    char *const *command;    /* ends in NULL */
    const char *engine_name; /* "auto" or one of the table of engines */
    struct engine_options engine;
    const struct pmu_source *pmu;
    const char *pmu_spec, *pmu_argument;
    enum pmu_kind kind;
    const char *unit; /* of the value in the profile, "" when unknown */
    double scale;     /* from the source's unit to that one */
    struct reporter reporter;
};

/* Parses ARGV, whose strings are borrowed as long as OPTIONS is used. Ends the program after --help
 * and
 * --version, and with EXIT_USAGE when something is wrong. */
void options_parse(struct options *options, int argc, char **argv);

#endif
