/* Sources of the PMU value that every sample carries: current, voltage, power or whatever a file
 * says.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_PMU_H
#define RECORD_PMU_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What the value is; the number is the magic of the `sampler` dialect. */
enum pmu_kind { PMU_CUSTOM = 0, PMU_CURRENT = 1, PMU_VOLTAGE = 2, PMU_POWER = 3 };

/* A source. A new one is a file with one of these and a line in pmu_table.c. */
struct pmu_source {
    const char *name;     /* in front of the colon of -p */
    const char *argument; /* what stands behind the colon, for the help; NULL: nothing */
    const char *help;
    /* Opens and reads once, so that what never worked is known before the target starts. Returns 0
     * with *STATE for read and close, or -1 with ERR filled. ARGUMENT is borrowed until close. */
    int (*open)(const char *argument, void **state, struct error *err);
    /* Returns 0 with *VALUE in the source's own unit, or -1 with ERR filled. Must not block. */
    int (*read)(void *state, double *value, struct error *err);
    void (*close)(void *state);
};

extern const struct pmu_source pmu_none, pmu_file;

/* All sources in the order of the help; ends in NULL. */
extern const struct pmu_source *const pmu_sources[];

/* Finds the source that SPEC ("none", "file:/path") names. Returns it, with *ARGUMENT the text
 * behind the colon (borrowed from SPEC, NULL without one), or NULL with ERR filled. */
const struct pmu_source *pmu_find(const char *spec, const char **argument, struct error *err);

/* The kind called NAME ("custom", "current", "voltage", "power"), or -1. */
int pmu_kind_of(const char *name);

/* What a value in UNIT is multiplied by to be in A, V or W: 0.001 for "mW". Sets *KIND when UNIT is
 * one of those three with or without a prefix (n u m k). Returns 0 for any other unit. */
double pmu_unit_scale(const char *unit, enum pmu_kind *kind);

/* "A", "V", "W", or NULL for PMU_CUSTOM. */
const char *pmu_kind_unit(enum pmu_kind kind);

#endif
