/* Names of the same code.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/match.h"

#include <string.h>

const char *match_binary(const char *name, const struct binary_map *maps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(name) == maps[i].from_length &&
            memcmp(name, maps[i].from, maps[i].from_length) == 0)
            return maps[i].to;
    return name;
}
