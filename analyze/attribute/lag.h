/* A sensor that shows late what it measured: values are moved to the samples in which the energy was used.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_LAG_H
#define ANALYZE_ATTRIBUTE_LAG_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/attribute/stretch.h"
#include "base/exact.h"
#include "formats/pbin/pbin.h"

/* Samples, beginning with number NEXT. */
struct late_samples {
    const struct pbin_samples *in;
    size_t next;
    exact lag;     /* of the sensor [2^-32 ns] */
    exact even;    /* the interval of all samples, or 0: they have their own [2^-32 ns] */
    bool own;      /* samples without threads end where the sensor was updated, not after that */
    double before; /* the value of the sample before the next; 0: none */
};

/* Are there samples that show what was used in the next COUNT samples, and where the sensor was updated? */
bool lag_is_covered(const struct late_samples *late, size_t count);

/* Sets VALUE [COUNT] to what the sensor shows one lag after each of the next samples, and EDGES to where in these intervals it
 * was updated. After the last sample, its value is assumed to continue. */
void lag_move(const struct late_samples *late, size_t count, double *value,
              struct stretch_edges *edges);

#endif
