/* The option -k of the tools whose rows have keys.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/key_option.h"

void keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state)
{
    struct error err = {0};
    if (pbin_keys_parse(keys, list, NULL, &err) != 0)
        argp_error(state, "-k: %s", err.text);
}
