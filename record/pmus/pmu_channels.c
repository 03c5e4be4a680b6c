/* Channels of power sources: names, scopes and units.
 * SPDX-License-Identifier: MIT */
#include "record/pmus/pmu.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

struct pmu_channel *pmu_channel_add(struct pmu_channels *channels, const char *name,
                                    const char *help)
{
    mem_reserve(&channels->list, &channels->capacity, channels->count + 1, sizeof *channels->list);
    struct pmu_channel *channel = &channels->list[channels->count];
    char *unique = mem_strdup(name);
    for (int i = 2; pmu_channel_find(channels, unique) > 0; i++) {
        free(unique);
        unique = mem_printf("%s#%d", name, i);
    }
    *channel = (struct pmu_channel){.name = unique,
                                    .help = mem_strdup(help),
                                    .unit = mem_strdup("W"),
                                    .kind = PMU_POWER,
                                    .per_count = 1};
    channels->count++;
    return channel;
}

void pmu_channel_quantity(struct pmu_channel *channel, enum pmu_kind kind, const char *unit)
{
    channel->kind = kind;
    free(channel->unit);
    channel->unit = mem_strdup(unit);
}

void pmu_channel_counter(struct pmu_channel *channel, double per_count, uint64_t range)
{
    channel->counter = true;
    channel->per_count = per_count;
    channel->range = range;
    pmu_channel_quantity(channel, PMU_POWER, "J");
}

void pmu_channels_free(struct pmu_channels *channels)
{
    for (size_t i = 0; i < channels->count; i++) {
        free(channels->list[i].name);
        free(channels->list[i].help);
        free(channels->list[i].unit);
    }
    free(channels->list);
    *channels = (struct pmu_channels){0};
}

size_t pmu_channel_find(const struct pmu_channels *channels, const char *name)
{
    for (size_t i = 0; i < channels->count; i++)
        if (strcmp(channels->list[i].name, name) == 0)
            return i + 1;
    return 0;
}

int pmu_channels_choose(struct pmu_channels *channels, const char *source, const char *name,
                        struct error *err)
{
    if (name == NULL)
        return 0;
    channels->chosen = pmu_channel_find(channels, name);
    return channels->chosen > 0
               ? 0
               : error_set(err, NULL, NO_OFFSET,
                           "%s has no '%s': see --list-pmus for what it can measure", source, name);
}

static bool inside(const struct pmu_channels *channels, const struct pmu_channel *a,
                   const struct pmu_channel *b)
{
    for (size_t steps = 0; a->inside > 0 && steps < channels->count; steps++) {
        a = &channels->list[a->inside - 1];
        if (a == b)
            return true;
    }
    return false;
}

/* Returns whether scope A includes scope B. */
static bool contains(enum pmu_scope a, enum pmu_scope b)
{
    switch (a) {
    case SCOPE_BOARD:
        return b != SCOPE_OTHER && b != SCOPE_BOARD;
    case SCOPE_PSYS:
        return b != SCOPE_OTHER && b != SCOPE_BOARD && b != SCOPE_PSYS;
    case SCOPE_PACKAGE:
        return b == SCOPE_CORE;
    default:
        return false;
    }
}

bool pmu_overlap(const struct pmu_channels *channels, const struct pmu_channel *a,
                 const struct pmu_channel *b, bool same)
{
    if (a->scope == SCOPE_OTHER || b->scope == SCOPE_OTHER || contains(a->scope, b->scope) ||
        contains(b->scope, a->scope))
        return true;
    if (a->scope == b->scope && (!same || a->scope == SCOPE_BOARD || a->scope == SCOPE_PSYS))
        return true; /* two meters of the same thing */
    if (!same)
        return false;
    return inside(channels, a, b) || inside(channels, b, a);
}

const char *pmu_scope_name(enum pmu_scope scope)
{
    static const char *const names[] = {
        [SCOPE_OTHER] = "other", [SCOPE_CORE] = "core", [SCOPE_PACKAGE] = "package",
        [SCOPE_DRAM] = "dram",   [SCOPE_GPU] = "gpu",   [SCOPE_PSYS] = "psys",
        [SCOPE_BOARD] = "board",
    };
    return names[scope];
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

/* Recognizes a known unit, with or without a prefix. */
static bool known_unit(const char *unit, struct pmu_unit *result)
{
    static const struct pmu_unit units[] = {{"J", PMU_POWER, true, 1},
                                            {"W", PMU_POWER, false, 1},
                                            {"A", PMU_CURRENT, false, 1},
                                            {"V", PMU_VOLTAGE, false, 1}};
    size_t length = strlen(unit);
    double scale = length == 1 ? 1 : length == 2 ? prefix_scale(unit[0]) : 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0] && scale > 0; i++) {
        if (strcmp(unit + length - 1, units[i].name) == 0) {
            *result = units[i];
            result->scale = scale;
            return true;
        }
    }
    return false;
}

/* Returns whether TEXT begins with NAME, ignoring case. */
static bool begins_with(const char *text, const char *name)
{
    return strncasecmp(text, name, strlen(name)) == 0;
}

static bool is_any_of(const char *set, char c)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Returns whether UNIT is probably a misspelling of a known unit: "uw", "Wm", "pJ", "milliwatts". Otherwise
 * it would be taken for a custom unit, whose values are not scaled. */
static bool is_misspelt(const char *unit)
{
    static const char *const prefixes[] = {"nano", "micro", "milli", "kilo", "mega",
                                           "n",    "u",     "m",     "k"};
    static const char *const names[] = {"joule", "watt", "amp", "volt"};
    static const char *const bases = "JWAVjwav", *const signs = "numkNUMK";
    if (strlen(unit) == 1)
        return is_any_of(bases, unit[0]);
    if (strlen(unit) == 2 && strcmp(unit, "VA") != 0)
        return is_any_of("JWAV", unit[1]) ||
               (is_any_of(bases, unit[1]) && is_any_of(signs, unit[0])) ||
               (is_any_of(bases, unit[0]) && is_any_of(signs, unit[1]));
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (begins_with(unit, names[n]))
            return true;
        for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++)
            if (begins_with(unit, prefixes[p]) && begins_with(unit + strlen(prefixes[p]), names[n]))
                return true;
    }
    return false;
}

int pmu_unit_settle(const char *unit, int kind, struct pmu_unit *result, struct error *err)
{
    static const char *const bases[] = {
        [PMU_NONE] = NULL, [PMU_CURRENT] = "A", [PMU_VOLTAGE] = "V",
        [PMU_POWER] = "W", [PMU_CUSTOM] = NULL,
    };
    const char *base = kind >= 0 ? bases[kind] : NULL;
    bool known = unit != NULL && known_unit(unit, result);
    if (!known)
        *result = (struct pmu_unit){unit != NULL ? unit : "", PMU_CUSTOM, false, 1};
    if (base != NULL && unit == NULL)
        known_unit(base, result);
    else if (base != NULL && (!known || result->kind != (enum pmu_kind)kind))
        return error_set(err, NULL, NO_OFFSET,
                         "--unit must be %s with or without a prefix (n u m k), not '%s'", base,
                         unit);
    if (!known && kind < 0 && unit != NULL && is_misspelt(unit))
        return error_set(
            err, NULL, NO_OFFSET,
            "--unit must be J, W, A or V with or without a prefix (n u m k), not '%s'; "
            "--pmu-kind custom records any unit unchanged",
            unit);
    if (kind == PMU_CUSTOM) /* values are not scaled, regardless of the name of the unit */
        *result = (struct pmu_unit){unit != NULL ? unit : "", PMU_CUSTOM, false, 1};
    return 0;
}
