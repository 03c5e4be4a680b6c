/* The facts about a profile, as a table of fields.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const uint8_t pbin_signature[PBIN_SIGNATURE_SIZE] = {0x89, 'P', 'B', 'N', '\r', '\n', 0x1a, '\n'};

#define FIELD(name, type, unit)                                                                    \
    {                                                                                              \
#name, type, offsetof(struct pbin_meta, name), unit                                        \
    }
const struct pbin_field pbin_fields[] = {
    FIELD(name, 's', ""),          FIELD(target, 's', ""),      FIELD(command, 's', ""),
    FIELD(host, 's', ""),          FIELD(started, 's', ""),     FIELD(dialect, 's', ""),
    FIELD(tool, 's', ""),          FIELD(unit, 's', ""),        FIELD(keys, 's', ""),
    FIELD(value, 's', ""),         FIELD(scope, 's', ""),       FIELD(pmu, 'u', ""),
    FIELD(volts, 'f', "V"),        FIELD(cpus, 'u', ""),        FIELD(wall_ns, 'u', "ns"),
    FIELD(latency_ns, 'u', "ns"),  FIELD(samples, 'u', ""),     FIELD(frequency, 'u', "mHz"),
    FIELD(baseline_w, 'f', "W"),   FIELD(cpu_time, 'u', ""),    FIELD(times, 'u', ""),
    FIELD(idle_samples, 'u', ""),  FIELD(attribution, 's', ""), FIELD(unattributed, 'f', "J"),
    FIELD(own_intervals, 'u', ""), FIELD(divided, 'u', ""),
};
const size_t pbin_field_count = sizeof pbin_fields / sizeof pbin_fields[0];

static char **text_of(struct pbin_meta *meta, size_t field)
{
    return (char **)((char *)meta + pbin_fields[field].at);
}

bool pbin_entries_are_calls(const struct pbin_meta *meta)
{
    return meta->dialect != NULL && strcmp(meta->dialect, "funcmeter") == 0;
}

void pbin_meta_free(struct pbin_meta *meta)
{
    for (size_t i = 0; i < pbin_field_count; i++)
        if (pbin_fields[i].type == 's')
            free(*text_of(meta, i));
    *meta = (struct pbin_meta){0};
}

void pbin_meta_copy(struct pbin_meta *to, const struct pbin_meta *from)
{
    *to = *from;
    for (size_t i = 0; i < pbin_field_count; i++)
        if (pbin_fields[i].type == 's' && *text_of(to, i) != NULL)
            *text_of(to, i) = mem_strdup(*text_of(to, i));
}
