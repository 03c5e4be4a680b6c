/* Matches names of the same code.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/match.h"

#include <string.h>

#include "base/memory.h"

void map_binary_option(struct binary_map **maps, size_t *count, size_t *capacity, const char *text,
                       struct argp_state *state)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        argp_error(state, "--map-binary must be OLD=NEW, not '%s'", text);
    mem_reserve(maps, capacity, *count + 1, sizeof **maps);
    (*maps)[(*count)++] = (struct binary_map){text, (size_t)(equals - text), equals + 1};
}

const char *match_binary(const char *name, const struct binary_map *maps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(name) == maps[i].from_length &&
            memcmp(name, maps[i].from, maps[i].from_length) == 0)
            return maps[i].to;
    return name;
}
