/* The table of PMU sources, and the units of their values.
 * SPDX-License-Identifier: MIT */
#include "record/pmu.h"

#include <string.h>

const struct pmu_source *const pmu_sources[] = {&pmu_none, &pmu_file, NULL};

static const struct {
    const char *name, *unit;
} kinds[] = {
    [PMU_CUSTOM] = {"custom", NULL},
    [PMU_CURRENT] = {"current", "A"},
    [PMU_VOLTAGE] = {"voltage", "V"},
    [PMU_POWER] = {"power", "W"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const struct pmu_source *pmu_find(const char *spec, const char **argument, struct error *err)
{
    size_t length = strcspn(spec, ":");
    *argument = spec[length] == ':' ? spec + length + 1 : NULL;
    for (const struct pmu_source *const *source = pmu_sources; *source != NULL; source++) {
        const char *name = (*source)->name;
        if (strlen(name) != length || memcmp(name, spec, length) != 0)
            continue;
        if (((*source)->argument != NULL) == (*argument != NULL && **argument != '\0'))
            return *source;
        error_set(err, NULL, NO_OFFSET, "expected '%s%s%s' as PMU, found '%s'", name,
                  (*source)->argument != NULL ? ":" : "",
                  (*source)->argument != NULL ? (*source)->argument : "", spec);
        return NULL;
    }
    error_set(err, NULL, NO_OFFSET, "unknown PMU '%s': see --help for the list", spec);
    return NULL;
}

int pmu_kind_of(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    return -1;
}

static double prefix_scale(char prefix)
{
    switch (prefix) {
    case 'n':
        return 1e-9;
    case 'u':
        return 1e-6;
    case 'm':
        return 1e-3;
    case 'k':
        return 1e3;
    default:
        return 0;
    }
}

double pmu_unit_scale(const char *unit, enum pmu_kind *kind)
{
    size_t length = strlen(unit);
    if (length < 1 || length > 2)
        return 0;
    double scale = length == 2 ? prefix_scale(unit[0]) : 1;
    for (int i = PMU_CURRENT; i < KINDS && scale > 0; i++) {
        if (strcmp(unit + length - 1, kinds[i].unit) == 0) {
            *kind = (enum pmu_kind)i;
            return scale;
        }
    }
    return 0;
}

const char *pmu_kind_unit(enum pmu_kind kind)
{
    return kinds[kind].unit;
}
