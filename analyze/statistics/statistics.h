/* Statistics of comparison besides Welch's test: moments combined from blocks of runs, and the approximate test for
 * single runs.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_STATISTICS_STATISTICS_H
#define ANALYZE_STATISTICS_STATISTICS_H

#include <stddef.h>

#include "analyze/statistics/welch.h"

/* N values as their mean and the sum of squared distances from it (NaN: unknown). All zero: no values. */
struct run_moments {
    size_t n;
    double mean, squares;
};

/* Sets TO to the moments of the values of both. */
void run_moments_add(struct run_moments *to, const struct run_moments *block);

/* Converts FROM for welch_test; a variance below LEAST becomes LEAST. */
struct moments run_moments_of(const struct run_moments *from, double least);

/* The samples of a row on one side. */
struct sampled {
    double value,
        total; /* of the row and of all rows, mean over the runs; any unit, the same on both sides */
    double samples; /* of all runs */
    double entries; /* into the row, of all runs; NaN: unknown */
    double runs;
};

/* The assumed variation of a row from run to run beyond sampling (standard deviation of its logarithm), and the factor
 * by which the variance exceeds that of a Markov chain. Measured; see pbin-compare(1). */
#define SAMPLING_NOISE  0.05
#define SAMPLING_EFFECT 1.5

/* The design effect, by which the variance exceeds that of independent samples, for a row that is a two-state Markov
 * chain: (2 - x) / x with x = entries / sum(n p (1 - p)) over both sides, at least 1. Infinite without entries, NaN if
 * entries are unknown. */
double sampling_effect(const struct sampled *a, const struct sampled *b);

/* Two-sided p that the row is the same on both sides: the larger p of two tests, of the share in the total (which does
 * not depend on the speed of the machine) and of the value itself (which does not depend on other rows), by Student's
 * t with entries - 1 degrees of freedom. NaN if entries are unknown or fewer than 2. Approximate, because a single run
 * does not show how much runs vary. */
double sampling_test(const struct sampled *a, const struct sampled *b, double noise);

/* Of a correlation that decays as exp(-t): its mean between two moments of a time U >= 0. The variance of a mean over that time is
 * this part of the variance of single moments. */
double decaying_mean(double u);

#endif
