/* The option -k of the tools whose rows have keys.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_KEY_OPTION_H
#define ANALYZE_AGGREGATE_KEY_OPTION_H

#include <argp.h>

#include "formats/pbin/pbin.h"

/* Parses LIST, names joined by commas; what is wrong with it is a usage error. */
void keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state);

#endif
