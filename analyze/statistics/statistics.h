/* Statistics of comparison other than Welch's test: moments that combine blocks of runs, and an
 * approximate test for single runs.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_STATISTICS_STATISTICS_H
#define ANALYZE_STATISTICS_STATISTICS_H

#include <stddef.h>

#include "analyze/statistics/welch.h"

/* N values, as their mean and the sum of squared distances from it (NaN: unknown). All zero: no
 * values. */
struct run_moments {
    size_t n;
    double mean, squares;
};

/* Sets TO to the moments of the values of TO and BLOCK together. */
void run_moments_add(struct run_moments *to, const struct run_moments *block);

/* Converts FROM for welch_test. A variance below LEAST becomes LEAST. */
struct moments run_moments_of(const struct run_moments *from, double least);

/* The samples of a row on one side. */
struct sampled {
    double value,
        total; /* of the row and of all rows, mean over the runs; in the same unit on both sides */
    double samples; /* in all runs */
    double entries; /* into the row, in all runs; NaN: unknown */
    double runs;
};

/* The assumed variation of a row from run to run that is not due to sampling (the standard
 * deviation of its logarithm), and the factor by which the variance exceeds that of a Markov chain.
 * Both were measured; see pbin-compare(1). */
#define SAMPLING_NOISE  0.05
#define SAMPLING_EFFECT 1.5

/* The design effect, by which the variance exceeds that of independent samples, if the row is a
 * two-state Markov chain: (2 - x) / x, where x = entries / sum(n p (1 - p)) over both sides, at
 * most 1. Infinite without entries; NaN if entries are unknown. */
double sampling_effect(const struct sampled *a, const struct sampled *b);

/* The two-sided p-value of the hypothesis that the row is the same on both sides: the larger p of
 * two tests. One tests the share of the total, which does not depend on the speed of the machine;
 * the other tests the value itself, which does not depend on other rows. Both use Student's t with
 * entries - 1 degrees of freedom. NaN if entries are unknown or fewer than 2. Approximate, because
 * a single run does not show how much runs vary. */
double sampling_test(const struct sampled *a, const struct sampled *b, double noise);

/* The mean, over two moments in a time U >= 0, of a correlation that decays as exp(-t). The
 * variance of a mean over this time is this part of the variance at single moments. */
double decaying_mean(double u);

#endif
