/* What comparison needs beside Welch's test: moments that are put together from blocks of runs, and the
 * approximate test for single runs.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_STATISTICS_H
#define ANALYZE_AGGREGATE_STATISTICS_H

#include <stddef.h>

#include "analyze/aggregate/welch.h"

/* N values as their mean and the sum of squared distances from it (NaN: not known). Zeroed: no values. */
struct run_moments {
    size_t n;
    double mean, squares;
};

/* TO becomes the moments of the values of both. */
void run_moments_add(struct run_moments *to, const struct run_moments *block);

/* As welch_test wants them; a variance below LEAST counts as LEAST. */
struct moments run_moments_of(const struct run_moments *from, double least);

/* What one side knows about a row by sampling. */
struct sampled {
    double value,
        total; /* of the row and of all rows, mean over the runs; any unit, both sides the same */
    double samples; /* moments at which all runs together were sampled */
    double entries; /* how often they were seen to come into the row; NaN: not known */
    double runs;
};

/* How much a row is taken to vary from run to run beyond sampling (standard deviation of its logarithm), and how
 * much more than a Markov chain's samples depend on each other. Measured; see pbin-compare(1). */
#define SAMPLING_NOISE  0.05
#define SAMPLING_EFFECT 1.5

/* By how much COUNT samples are worth less than independent ones, for a row that is a two-state Markov chain:
 * (2 - x) / x with x = entries / sum(n p (1 - p)) over both sides, at least 1; infinite where none was seen to
 * come, NaN where that is not known. */
double sampling_effect(const struct sampled *a, const struct sampled *b);

/* Two-sided p that the row is the same on both sides: the larger one of two tests, of the share in the total (which
 * a faster or slower machine does not change) and of the value itself (which another row does not change), by
 * Student's t with entries - 1 degrees of freedom. NaN where entries are not known or fewer than 2. Approximate: a single run cannot know how much runs vary. */
double sampling_test(const struct sampled *a, const struct sampled *b, double noise);

#endif
