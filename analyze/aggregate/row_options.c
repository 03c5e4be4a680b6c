/* The options of several tools whose rows have keys.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/row_options.h"

#include <string.h>

#include "base/tool.h"

static bool has(const struct pbin_keys *keys, const char *name)
{
    return pbin_keys_index(keys, name) < keys->count;
}

/* Inserts key NEEDED before key NAME, which is ambiguous without it, unless it is already a key. */
static void insert_before(struct pbin_keys *keys, const char *name, const char *needed)
{
    size_t at = pbin_keys_index(keys, name);
    if (at == keys->count || has(keys, needed))
        return;
    memmove(keys->key + at + 1, keys->key + at, (keys->count - at) * sizeof keys->key[0]);
    keys->key[at] = pbin_key_find(needed, strlen(needed));
    keys->count++;
}

void keys_option(struct pbin_keys *keys, const char *list, struct argp_state *state)
{
    struct error err = {0};
    if (pbin_keys_parse(keys, list, NULL, &err) != 0)
        argp_error(state, "-k: %s", err.text);
    keys->offsets = has(keys, "pc");
    insert_before(keys, "pc", "binary");
    insert_before(keys, "basic-block", "binary");
    if (!has(keys, "file"))
        insert_before(keys, "line", "inline");
}

void kernel_option(struct pbin_keys *keys, const char *argument, struct argp_state *state)
{
    keys->caller = tool_either(state, "--kernel", argument, "own", "caller");
}

bool mode_option(const char *argument, struct argp_state *state)
{
    return tool_either(state, "--mode", argument, "mean", "add");
}

void filter_option(struct selection *selection, const char *text, bool exclude,
                   struct argp_state *state)
{
    const char *wrong = selection_add(selection, text, exclude);
    if (wrong != NULL)
        argp_error(state, "filter '%s' %s", text, wrong);
}
