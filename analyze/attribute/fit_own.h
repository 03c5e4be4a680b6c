/* Used by fit*.c: the amount by which the products of CPU times are too large if each sample
 * has its own interval.
 *
 * A sampler that reads CPU time only now and then may divide it among the samples taken since it
 * was last read. Each sample is at the end of the time that it represents, and its program counter
 * was seen at a random moment in this time. The moment at which the row changed is then known to
 * within about an interval d. If rows stay for long and intervals are alike, a window in which the
 * row changes has errors at the change and at both ends. Because the CPU time of the window is
 * known, their variance is (d^2 / 12) (1 + f^2 + (1 - f)^2), where f is the part of the window
 * before the change. If the moments are random, n of them show f with the variance d^2 n f (1 - f).
 *
 * Two samples in different rows of one window change the products by d^2 if each of them represents
 * both (see pair_up). The part of this correction that is right depends on how long rows stay. It
 * is computed here for stays with an exponential distribution, from how often the row of a thread
 * differs from its row in the previous sample and in the sample before that.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_OWN_H
#define ANALYZE_ATTRIBUTE_FIT_OWN_H

#include <stdbool.h>

#include "base/exact.h"
#include "formats/pbin/pbin.h"

/* Sums over thread samples that have two predecessors; all zero if there are none. */
struct fit_own {
    enum pbin_own kind;
    exact count, ns;      /* number and CPU time of these samples */
    exact inside, paired; /* in one window with their predecessor; paired with it */
    exact changes;        /* products with the predecessor's CPU time, if its row differs [ns^2] */
    exact changes_of_two; /* the same products, if the row of the one before that differs */
};

/* A thread sample: its CPU time and that of its predecessor. */
struct fit_own_sample {
    double ns, ns_before;
    bool changed, changed_of_two, inside, paired;
};

/* Adds a thread sample, unless it follows a gap. */
void fit_own_add(struct fit_own *own, const struct fit_own_sample *sample);

void fit_own_merge(struct fit_own *to, const struct fit_own *from);

/* The excess of the products, divided by the change that pairs of samples make; 1 if nothing was
 * added. */
double fit_own_part(const struct fit_own *own);

/* The largest variance of the CPU time of a thread at the end of a part of a run, in squares of the
 * CPU time of one of its samples (found by recordings). If KIND is PBIN_OWN_RANDOM, threads may get
 * CPU time that they lack in the next part. */
double fit_own_end_variance(enum pbin_own kind);

/* Returns whether rows change between many samples, at a rate that shows that stays are short. */
bool fit_own_is_most(const struct fit_own *own);

#endif
