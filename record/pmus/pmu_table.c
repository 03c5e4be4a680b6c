/* The table of power sources.
 * SPDX-License-Identifier: MIT */
#include "record/pmus/pmu.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

extern const struct pmu_source pmu_none, pmu_rapl, pmu_amd_core, pmu_hwmon, pmu_cray, pmu_gpu,
    pmu_lynsyn, pmu_file, pmu_counter, pmu_command, pmu_log;

const struct pmu_source *const pmu_sources[] = {
    &pmu_none,   &pmu_rapl, &pmu_amd_core, &pmu_hwmon,   &pmu_cray, &pmu_gpu,
    &pmu_lynsyn, &pmu_file, &pmu_counter,  &pmu_command, &pmu_log,  NULL};

/* An argument in brackets is optional. */
static bool accepts(const struct pmu_source *source, const char *argument)
{
    bool given = argument != NULL && argument[0] != '\0';
    if (source->argument == NULL)
        return argument == NULL;
    return given || (source->argument[0] == '[' && argument == NULL);
}

char *pmu_usage(const struct pmu_source *source)
{
    const char *argument = source->argument;
    if (argument == NULL)
        return mem_strdup(source->name);
    return argument[0] == '[' ? mem_printf("%s[:%s", source->name, argument + 1)
                              : mem_printf("%s:%s", source->name, argument);
}

const struct pmu_source *pmu_find(const char *spec, const char **argument, struct error *err)
{
    size_t length = strcspn(spec, ":");
    *argument = spec[length] == ':' ? spec + length + 1 : NULL;
    for (const struct pmu_source *const *source = pmu_sources; *source != NULL; source++) {
        const char *name = (*source)->name;
        if (strlen(name) != length || memcmp(name, spec, length) != 0)
            continue;
        if (accepts(*source, *argument))
            return *source;
        char *usage = pmu_usage(*source);
        error_set(err, NULL, NO_OFFSET, "this power source must have the form %s, not '%s'", usage,
                  spec);
        free(usage);
        return NULL;
    }
    error_set(err, NULL, NO_OFFSET, "unknown power source '%s' (--list-pmus shows all sources)",
              spec);
    return NULL;
}
