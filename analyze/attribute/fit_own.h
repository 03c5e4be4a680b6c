/* Internal to fit*.c: by how much the products of CPU times are too large if each sample has an interval of its own.
 *
 * A sampler that counts CPU time now and then may divide it among the samples taken in between. Each sample is at the end of
 * the time that it represents, and its program counter was seen at a random moment of this time. The time at which the row
 * changed is then known to about an interval d. If rows stay for long and intervals are alike, a window in which the row
 * changes has errors at the change and at both ends: (d^2 / 12) (1 + f^2 + (1 - f)^2), where f is the part of the window
 * before the change, because the CPU time of the window is known. If moments are random, n of them show f with the variance
 * d^2 n f (1 - f).
 *
 * Two samples in different rows in one window change the products by d^2 if each of them stands in for both (see pair_up).
 * How much of this correction is right depends on how long rows stay. Here, this is computed for stays with an exponential
 * distribution, from how often a row differs from that of the previous sample, and from that of the sample before it.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_OWN_H
#define ANALYZE_ATTRIBUTE_FIT_OWN_H

#include <stdbool.h>

#include "base/exact.h"
#include "formats/pbin/pbin.h"

/* Sums over thread samples that follow two others of their thread; all zero: none. */
struct fit_own {
    enum pbin_own kind;
    exact count, ns;      /* and their CPU time */
    exact inside, paired; /* in one window with the one before; taken for that one, too */
    exact changes;        /* products of CPU times with the one before, if in another row [ns^2] */
    exact changes_of_two; /* the same products if the one before that was in another row */
};

/* A thread sample with the CPU time of its own and of the sample before. */
struct fit_own_sample {
    double ns, ns_before;
    bool changed, changed_of_two, inside, paired;
};

/* Adds a thread sample; not one after a gap. */
void fit_own_add(struct fit_own *own, const struct fit_own_sample *sample);

void fit_own_merge(struct fit_own *to, const struct fit_own *from);

/* The excess of products by what pairs of samples change in them; 1 if nothing was added. */
double fit_own_part(const struct fit_own *own);

/* Do rows mostly change from one sample to the next? */
bool fit_own_is_most(const struct fit_own *own);

#endif
