/* The options -k and --kernel of the tools whose rows have keys.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/key_option.h"

#include <string.h>

/* Puts the binary in front of the pc, an offset in it. */
static void insert_binary(struct pbin_keys *keys)
{
    size_t pc = pbin_keys_index(keys, "pc");
    memmove(keys->key + pc + 1, keys->key + pc, (keys->count - pc) * sizeof keys->key[0]);
    keys->key[pc] = pbin_key_find("binary", 6);
    keys->count++;
}

void keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state)
{
    struct error err = {0};
    if (pbin_keys_parse(keys, list, NULL, &err) != 0)
        argp_error(state, "-k: %s", err.text);
    keys->offsets = pbin_keys_index(keys, "pc") < keys->count;
    if (keys->offsets && pbin_keys_index(keys, "binary") == keys->count)
        insert_binary(keys);
}

void kernel_option(struct pbin_keys *keys, const char *argument, struct argp_state *state)
{
    keys->caller = strcmp(argument, "caller") == 0;
    if (!keys->caller && strcmp(argument, "own") != 0)
        argp_error(state, "--kernel takes own or caller, not '%s'", argument);
}
