/* The options -k and --kernel of the tools whose rows have keys.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/key_option.h"

#include <string.h>

void keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state)
{
    struct error err = {0};
    if (pbin_keys_parse(keys, list, NULL, &err) != 0)
        argp_error(state, "-k: %s", err.text);
}

void kernel_option(struct pbin_keys *keys, const char *argument, struct argp_state *state)
{
    keys->caller = strcmp(argument, "caller") == 0;
    if (!keys->caller && strcmp(argument, "own") != 0)
        argp_error(state, "--kernel takes own or caller, not '%s'", argument);
}
