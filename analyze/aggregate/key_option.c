/* The option -k of the tools whose rows have keys.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/key_option.h"

#include <string.h>

#include "base/tool.h"

static const char *key_name(size_t number)
{
    const struct pbin_key *key = pbin_key_get(number);
    return key != NULL ? key->name : NULL;
}

static int parse_one(const char *text, size_t length, struct argp_state *state)
{
    char list[TOOL_LIST_SIZE];
    int key = pbin_key_find(text, length);
    tool_name_list(list, key_name, " and");
    if (key < 0)
        argp_error(state, "unknown key '%.*s'; there are %s", (int)length, text, list);
    return key;
}

size_t keys_parse(int keys[PBIN_MAX_KEYS], const char *list, struct argp_state *state)
{
    size_t count = 0;
    for (const char *at = list;; at += strcspn(at, ",") + 1) {
        size_t length = strcspn(at, ",");
        int key = parse_one(at, length, state);
        for (size_t i = 0; i < count; i++)
            if (keys[i] == key)
                argp_error(state, "key %s is named twice", pbin_key_get((size_t)key)->name);
        keys[count++] = key;
        if (at[length] == '\0')
            return count;
    }
}
