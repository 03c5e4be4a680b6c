/* The command-line options of prof2pbin.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_PROF2PBIN_OPTIONS_H
#define CONVERT_PROF2PBIN_PROF2PBIN_OPTIONS_H

#include "base/tool.h"
#include "convert/prof2pbin/convert.h"

struct prof_options {
    struct tool_common common;
    struct raw_options raw;
    struct convert_options convert;
    const char *input, *maps, *dump_maps;
};

/* Its input is a zeroed struct prof_options, whose texts are borrowed from the command line. Caller frees the search
 * paths. */
extern const struct argp prof_argp;

#endif
