/* The options about power sources, shared by all tools that measure power: -p, and properties of
 * the source before them.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_POWER_OPTIONS_H
#define RECORD_POWER_OPTIONS_H

#include <argp.h>

#include "record/power.h"

enum {
    KEY_POWER_KIND = 0x180,
    KEY_POWER_UNIT,
    KEY_POWER_RANGE,
    KEY_POWER_CLOCK_OFFSET,
};

/* The sources so far, and the properties that were given before the first -p. */
struct power_parsing {
    struct power_options *power;
    struct pmu_request early; /* .kind = -1 at the start */
};

/* Handles -p, -s and the keys above. Returns false for all other keys. */
bool power_option_take(struct power_parsing *parsing, int key, char *argument,
                       struct argp_state *state);
/* To be called at the end: redundant or contradictory options are usage errors. */
void power_options_check(const struct power_parsing *parsing, struct argp_state *state);

/* Returns TEXT with the sources appended, for a help text. Frees TEXT; caller frees the result. */
char *power_options_help(char *text);

#endif
