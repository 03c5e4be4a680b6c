/* Significance of a difference of means: Student's t distribution, Welch's test, Holm's correction.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_STATISTICS_WELCH_H
#define ANALYZE_STATISTICS_WELCH_H

#include <stddef.h>

/* P(T <= t) of Student's t distribution with DF > 0 degrees of freedom (any real). */
double student_cdf(double t, double df);

/* The t with P(|T| <= t) = CONFIDENCE (0 < CONFIDENCE < 1), "two-sided" in tables. */
double student_quantile(double confidence, double df);

/* Mean, sample variance (divisor n - 1) and number of the values of one side. */
struct moments {
    double mean, variance;
    size_t n;
};

struct welch {
    double t;     /* (b - a) / standard error; infinite if the sides differ without any variance */
    double df;    /* Welch-Satterthwaite; NaN without variance */
    double p;     /* two-sided; NaN if a side has fewer than 2 values */
    double error; /* standard error of b - a; NaN if a side has fewer than 2 values */
};

/* Welch's test of the difference of the means of A and B; everything is NaN if a side has fewer than 2 values. */
struct welch welch_test(const struct moments *a, const struct moments *b);

/* Holm's correction in place: P[i] becomes the smallest level at which test i is significant among all COUNT tests. A
 * NaN remains and does not count as a test. */
void holm_adjust(double *p, size_t count);

#endif
