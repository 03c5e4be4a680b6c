/* A sensor that shows its measurements late: values are moved to the samples in which the energy
 * was used.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_LAG_H
#define ANALYZE_ATTRIBUTE_LAG_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/attribute/stretch.h"
#include "base/exact.h"
#include "formats/pbin/pbin.h"

/* The samples starting at number NEXT. */
struct late_samples {
    const struct pbin_samples *in;
    size_t next;
    exact lag;     /* of the sensor [2^-32 ns] */
    exact even;    /* the interval of all samples; 0: they have their own [2^-32 ns] */
    bool own;      /* samples without threads end at an update of the sensor, not after it */
    double before; /* the value of the sample before the next; 0: none */
};

/* Returns whether there are samples that show the energy used in the next COUNT samples, and the
 * updates of the sensor in them. */
bool lag_is_covered(const struct late_samples *late, size_t count);

/* Sets VALUE [COUNT] to the values that the sensor shows one lag after each of the next samples,
 * and EDGES to its updates in these intervals. The value of the last sample is assumed to continue
 * after it. */
void lag_move(const struct late_samples *late, size_t count, double *value,
              struct stretch_edges *edges);

#endif
