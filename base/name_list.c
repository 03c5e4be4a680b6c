/* Looks names up in lists.
 * SPDX-License-Identifier: MIT */
#include "base/name_list.h"

#include <string.h>

int name_find_part(const char *const *names, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return (int)i;
    return -1;
}

int name_find(const char *const *names, size_t count, const char *name)
{
    return name_find_part(names, count, name, strlen(name));
}
