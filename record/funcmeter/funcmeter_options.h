/* The command line of funcmeter.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_FUNCMETER_OPTIONS_H
#define RECORD_FUNCMETER_FUNCMETER_OPTIONS_H

#include <stdbool.h>

#include "base/report.h"
#include "record/funcmeter/patterns.h"
#include "record/funcmeter/session.h"
#include "record/power_options.h"

/* The method of counting calls: by changing code, by breakpoints of the kernel, or by whichever of
 * these is possible. */
enum meter_method { METHOD_PATCH, METHOD_UPROBE, METHOD_AUTO };

struct funcmeter_options {
    struct reporter reporter;
    struct meter_patterns patterns;
    struct session_options session;
    struct power_options power;
    struct power_parsing power_parsing;
    bool per_thread;
    enum meter_method method;
    const char *output, *format; /* NULL: not given */
    char **command;
    /* no command was given: COMMAND is funcmeter itself, which loads the libraries of patterns
     * and then ends */
    bool alone;
    char *self[2], self_path[16];
};

/* Parses ARGV. Usage errors end the program. Caller frees the patterns. */
void funcmeter_options_parse(struct funcmeter_options *options, int argc, char **argv);

/* Returns an option that is not possible with breakpoints, or NULL. */
const char *funcmeter_beyond_probes(const struct funcmeter_options *options);

/* Return whether the results have this format. */
bool funcmeter_wants_pbin(const struct funcmeter_options *options);
bool funcmeter_wants_igprof(const struct funcmeter_options *options);

#endif
