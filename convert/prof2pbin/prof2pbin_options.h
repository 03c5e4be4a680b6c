/* The command-line options of prof2pbin.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_PROF2PBIN_OPTIONS_H
#define CONVERT_PROF2PBIN_PROF2PBIN_OPTIONS_H

#include "convert/prof2pbin/convert.h"

struct prof_options {
    struct convert_options convert; /* first: a struct converter */
    struct raw_options raw;
    const char *maps, *dump_maps;
};

/* Its input is a zeroed struct prof_options, whose texts are borrowed from the command line. Caller frees the search
 * paths. */
extern const struct argp prof_argp;

#endif
