/* The option -k of the tools whose rows have keys.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_KEY_OPTION_H
#define ANALYZE_AGGREGATE_KEY_OPTION_H

#include <argp.h>

#include "formats/pbin/pbin.h"

/* Numbers (for pbin_key_get) of the keys in LIST, names joined by commas; returns how many. An unknown name, or one
 * that comes twice, is a usage error. */
size_t keys_parse(int keys[PBIN_MAX_KEYS], const char *list, struct argp_state *state);

#endif
