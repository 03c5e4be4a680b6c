/* The quantity that the PMU values of a profile add up to: energy, or a quantity with a custom
 * unit.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_QUANTITY_H
#define ANALYZE_ATTRIBUTE_QUANTITY_H

#include <stdbool.h>

#include "formats/pbin/pbin.h"

/* The integral over time of value * scale, and its mean over time. */
struct quantity {
    const char *name, *unit;           /* "energy", "J"; NAME is NULL: the profile has no values */
    const char *rate_name, *rate_unit; /* "power", "W" */
    double scale;                      /* of the PMU value: volts for a current, otherwise 1 */
    char unit_text[32], rate_text[24]; /* storage for a custom unit */
};

/* Fills QUANTITY from META. */
void quantity_of(const struct pbin_meta *meta, struct quantity *quantity);

/* Returns whether sums of A and of B can be added or compared. */
bool quantity_same(const struct quantity *a, const struct quantity *b);

#endif
