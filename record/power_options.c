/* The options about power sources.
 * SPDX-License-Identifier: MIT */
#include "record/power_options.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/number.h"

static void add_source(struct power_parsing *parsing, const char *spec, struct argp_state *state)
{
    struct power_options *power = parsing->power;
    struct error err = {0};
    const char *argument;
    const struct pmu_source *source = pmu_find(spec, &argument, &err);
    if (source == NULL)
        argp_error(state, "%s", err.text);
    if (power->count == MAX_POWER_SOURCES)
        argp_error(state, "at most %d sources can be given (-p)", MAX_POWER_SOURCES);
    struct power_source *added = &power->sources[power->count];
    *added = (struct power_source){.source = source, .spec = spec, .request = {.kind = -1}};
    if (power->count++ == 0)
        added->request = parsing->early;
    added->request.argument = argument;
}

/* Properties belong to the source of the -p before them; without a -p before them, to the first
 * source. */
static struct pmu_request *request_of(struct power_parsing *parsing)
{
    struct power_options *power = parsing->power;
    return power->count > 0 ? &power->sources[power->count - 1].request : &parsing->early;
}

static int kind_of(struct argp_state *state, const char *name)
{
    int kind = pmu_kind_parse(name);
    if (kind <= PMU_NONE)
        argp_error(state, "--pmu-kind must be current, voltage, power or custom, not '%s'", name);
    return kind;
}

static uint64_t whole(struct argp_state *state, const char *text, const char *what, uint64_t most)
{
    uint64_t value = 0;
    if (!parse_unsigned(text, 1, most, &value))
        argp_error(state, "%s must be an integer >= 1, not '%s'", what, text);
    return value;
}

static double offset_of(struct argp_state *state, const char *text)
{
    const double most = 1e10;
    double value = 0;
    if (!parse_double(text, -most, most, &value))
        argp_error(state, "--clock-offset must be a number from %g to %g, not '%s'", -most, most,
                   text);
    return value;
}

bool power_option_take(struct power_parsing *parsing, int key, char *argument,
                       struct argp_state *state)
{
    switch (key) {
    case 'p':
        add_source(parsing, argument, state);
        return true;
    case 's':
        request_of(parsing)->sensor = (size_t)whole(state, argument, "-s", 65536);
        return true;
    case KEY_POWER_KIND:
        request_of(parsing)->kind = kind_of(state, argument);
        return true;
    case KEY_POWER_UNIT:
        request_of(parsing)->unit = argument;
        return true;
    case KEY_POWER_RANGE:
        request_of(parsing)->range = whole(state, argument, "--range", UINT64_MAX);
        return true;
    case KEY_POWER_CLOCK_OFFSET:
        request_of(parsing)->clock_offset = offset_of(state, argument);
        return true;
    default:
        return false;
    }
}

void power_options_check(const struct power_parsing *parsing, struct argp_state *state)
{
    const struct pmu_request *early = &parsing->early;
    if (parsing->power->count == 0 &&
        (early->unit != NULL || early->kind >= 0 || early->range > 0 || early->sensor > 0))
        argp_error(state, "-s, --unit, --pmu-kind, --range: no power source given (-p)");
    if (parsing->power->count == 0 &&
        (parsing->power->baseline_seconds > 0 || parsing->power->baseline_w > 0))
        argp_error(state, "--baseline: no power source given (-p)");
    for (size_t i = 0; i < parsing->power->count; i++) {
        const struct power_source *s = &parsing->power->sources[i];
        struct pmu_unit unit;
        struct error err = {0};
        if (!s->source->takes_unit && (s->request.unit != NULL || s->request.kind >= 0))
            argp_error(state, "--unit and --pmu-kind do not apply to %s", s->source->name);
        if (!s->source->takes_range && s->request.range > 0)
            argp_error(state, "--range does not apply to %s", s->source->name);
        if (pmu_unit_settle(s->request.unit, s->request.kind, &unit, &err) != 0)
            argp_error(state, "%s", err.text);
    }
}

char *power_options_help(char *text)
{
    char *list = mem_strdup("SOURCE:\n");
    for (const struct pmu_source *const *s = pmu_sources; *s != NULL; s++) {
        char *usage = pmu_usage(*s);
        mem_append(&list, "  %-22s %s\n", usage, (*s)->help);
        free(usage);
    }
    mem_append(&list, "%s", text);
    free(text);
    return list;
}
