/* The names of the kinds of PMU values.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pmu_kind.h"

#include <stddef.h>
#include <string.h>

static const char *const kinds[] = {"none", "current", "voltage", "power", "custom"};

const char *pmu_kind_name(enum pmu_kind kind)
{
    return (unsigned)kind < sizeof kinds / sizeof kinds[0] ? kinds[kind] : "custom";
}

int pmu_kind_parse(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i], name) == 0)
            return (int)i;
    return -1;
}
