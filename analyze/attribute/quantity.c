/* The quantity that the PMU values of a profile add up to.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/quantity.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *unit, *rate_name, *rate_unit;
} named[] = {
    [PMU_NONE] = {NULL, "", NULL, ""},
    [PMU_CURRENT] = {"charge", "C", "current", "A"}, /* if there is no supply voltage */
    [PMU_VOLTAGE] = {"voltage_time", "V s", "voltage", "V"},
    [PMU_POWER] = {"energy", "J", "power", "W"},
    [PMU_CUSTOM] = {"integral", NULL, "mean", NULL},
};

/* Truncates a unit that is too long, at the end of a character. */
static void copy_unit(char *to, size_t size, const char *unit)
{
    size_t length = strlen(unit);
    if (length >= size)
        for (length = size - 1; length > 0 && ((unsigned char)unit[length] & 0xc0) == 0x80;)
            length--;
    memcpy(to, unit, length);
    to[length] = '\0';
}

void quantity_of(const struct pbin_meta *meta, struct quantity *q)
{
    enum pmu_kind kind = meta->pmu > PMU_CUSTOM ? PMU_CUSTOM : (enum pmu_kind)meta->pmu;
    *q = (struct quantity){.scale = 1};
    if (kind == PMU_CURRENT && meta->volts > 0) {
        q->scale = meta->volts;
        kind = PMU_POWER;
    }
    q->name = named[kind].name;
    q->rate_name = named[kind].rate_name;
    copy_unit(q->rate_text, sizeof q->rate_text, meta->unit == NULL ? "" : meta->unit);
    snprintf(q->unit_text, sizeof q->unit_text, "%s%ss", q->rate_text,
             q->rate_text[0] != '\0' ? " " : "");
    q->unit = named[kind].unit != NULL ? named[kind].unit : q->unit_text;
    q->rate_unit = named[kind].rate_unit != NULL ? named[kind].rate_unit : q->rate_text;
}

bool quantity_same(const struct quantity *a, const struct quantity *b)
{
    if (a->name == NULL || b->name == NULL)
        return a->name == b->name;
    return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0;
}
