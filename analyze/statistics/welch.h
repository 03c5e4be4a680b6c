/* The significance of a difference of means: Student's t distribution, Welch's test, Holm's
 * correction.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_STATISTICS_WELCH_H
#define ANALYZE_STATISTICS_WELCH_H

#include <stddef.h>

/* P(T <= t) of Student's t distribution with DF > 0 degrees of freedom (any real number). */
double student_cdf(double t, double df);

/* The t with P(|T| <= t) = CONFIDENCE (0 < CONFIDENCE < 1), called "two-sided" in tables. */
double student_quantile(double confidence, double df);

/* The mean, the sample variance (divisor n - 1), and the number of values of a side. */
struct moments {
    double mean, variance;
    size_t n;
};

struct welch {
    double t;     /* (b - a) / standard error; infinite if the sides differ and have no variance */
    double df;    /* Welch-Satterthwaite; NaN without variance */
    double p;     /* two-sided; NaN if a side has fewer than 2 values */
    double error; /* standard error of b - a; NaN if a side has fewer than 2 values */
};

/* Welch's test of the difference of the means of A and B. All results are NaN if a side has fewer
 * than 2 values. */
struct welch welch_test(const struct moments *a, const struct moments *b);

/* Applies Holm's correction in place: P[i] becomes the lowest level at which test i is significant
 * among all COUNT tests. NaN values remain, and do not count as tests. */
void holm_adjust(double *p, size_t count);

#endif
