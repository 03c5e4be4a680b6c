/* Used by fit*.c: the amount by which the products of estimated CPU times are too large. It
 * follows from how much larger they are if every other sample is left out.
 *
 * The excess depends on the intervals between samples. If threads stay in rows for long, a change
 * of row can be anywhere in an interval d, and the error of the CPU time has the variance d^2 / 12.
 * With every other sample, there are half as many intervals D, which together contain as many
 * changes. The excess of the products is then in proportion to E(D^3) / 2 E(d^3), which is 2 for
 * exponential intervals and 4 for equal ones. It is less if stays are as short as intervals. It is
 * computed here for stays with an exponential distribution, from the mean square of the intervals,
 * and from how often rows change in d and in D.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_EXCESS_H
#define ANALYZE_ATTRIBUTE_FIT_EXCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exact.h"

/* Sums over the intervals of recordings without CPU times [ns]. */
struct fit_excess {
    exact count, ns, squares;
    exact changes, changes_of_two; /* squares of d and D that begin in one row and end in another */
};

/* Adds COUNT intervals NS. OF has the columns of THREADS threads for each sample. */
void fit_excess_add(struct fit_excess *excess, const double *ns, const uint16_t *of, size_t threads,
                    size_t count);

/* Adds FROM to TO. */
void fit_excess_merge(struct fit_excess *to, const struct fit_excess *from);

/* The excess of the products, divided by the difference between the products of every other sample
 * and those of all samples. It is 1 for exponential intervals and long stays, and if nothing was
 * added. */
double fit_excess_part(const struct fit_excess *excess);

/* Returns whether rows change between most samples, so that the products are nearly all excess. */
bool fit_excess_is_most(const struct fit_excess *excess);

#endif
