/* Internal to fit*.c: by how much the products of estimated CPU times are too large. This follows from how much
 * larger they are when estimated from every other sample.
 *
 * The excess depends on the intervals between samples. Where rows stay for long, a change of row is anywhere in an interval
 * d, and the error of its CPU time has the variance d^2 / 12. Every other sample has half as many intervals D, which together
 * contain as many changes. The excess of products is then proportional to E(D^3) / 2 E(d^3), which is 2 for exponential
 * intervals and 4 for equal ones; where stays are as short as intervals, it is less. It is computed here for rows whose stays
 * are exponential, from the mean square of the intervals and from how often rows change in d and in D.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_EXCESS_H
#define ANALYZE_ATTRIBUTE_FIT_EXCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exact.h"

/* Sums over intervals of recordings without CPU times [ns]. */
struct fit_excess {
    exact count, ns, squares;
    exact changes,
        changes_of_two; /* squares of intervals d and D that end in a row other than that in which they begin */
};

/* Adds COUNT intervals NS, with the columns OF of THREADS threads in each sample. */
void fit_excess_add(struct fit_excess *excess, const double *ns, const uint16_t *of, size_t threads,
                    size_t count);

/* TO += FROM. */
void fit_excess_merge(struct fit_excess *to, const struct fit_excess *from);

/* The excess of products, divided by the difference between products from every other sample and from all samples; 1 for exponential
 * intervals and long stays, and if nothing was added. */
double fit_excess_part(const struct fit_excess *excess);

/* Do rows mostly change from one sample to the next? Then the products are nearly all excess. */
bool fit_excess_is_most(const struct fit_excess *excess);

#endif
