/* Student's t against published tables, Welch's test and Holm's correction against worked examples.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "analyze/statistics/welch.h"

#define CHECK_NEAR(got, want, tolerance)                                                           \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        if (!(fabs(got_ - want_) <= (tolerance)))                                                  \
            CHECK_FAIL("%s is %.12g, not %.12g", #got, got_, want_);                               \
    } while (0)

/* Two-sided quantiles as printed in the usual tables (3 decimals). */
static void quantiles_of_tables(struct check *check)
{
    static const struct {
        double df, t90, t95, t99, t999;
    } rows[] = {
        {1, 6.314, 12.706, 63.657, 636.619}, {2, 2.920, 4.303, 9.925, 31.599},
        {3, 2.353, 3.182, 5.841, 12.924},    {4, 2.132, 2.776, 4.604, 8.610},
        {5, 2.015, 2.571, 4.032, 6.869},     {9, 1.833, 2.262, 3.250, 4.781},
        {10, 1.812, 2.228, 3.169, 4.587},    {20, 1.725, 2.086, 2.845, 3.850},
        {30, 1.697, 2.042, 2.750, 3.646},    {60, 1.671, 2.000, 2.660, 3.460},
        {120, 1.658, 1.980, 2.617, 3.373},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_NEAR(student_quantile(0.90, rows[i].df), rows[i].t90, 0.0006);
        CHECK_NEAR(student_quantile(0.95, rows[i].df), rows[i].t95, 0.0006);
        CHECK_NEAR(student_quantile(0.99, rows[i].df), rows[i].t99, 0.0006);
        CHECK_NEAR(student_quantile(0.999, rows[i].df), rows[i].t999, 0.0006);
    }
    CHECK_NEAR(student_quantile(0.95, 1e7), 1.959964, 1e-5); /* the normal distribution */
}

/* Closed forms exist for one and two degrees of freedom. */
static void closed_forms(struct check *check)
{
    const double pi = 3.14159265358979323846;
    for (double t = -50; t <= 50; t += 0.37) {
        CHECK_NEAR(student_cdf(t, 1), 0.5 + atan(t) / pi, 1e-13);
        CHECK_NEAR(student_cdf(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-13);
    }
    CHECK_NEAR(student_cdf(0, 7.5), 0.5, 1e-15);
    CHECK_NEAR(student_cdf(INFINITY, 3), 1, 0);
}

static struct moments moments_of(const double *x, size_t n)
{
    struct moments m = {0, 0, n};
    for (size_t i = 0; i < n; i++)
        m.mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        m.variance += (x[i] - m.mean) * (x[i] - m.mean) / (double)(n - 1);
    return m;
}

/* The usual textbook example: equal variances, equal sizes. */
static void welch_example(struct check *check)
{
    static const double a1[] = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                                21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
    static const double b1[] = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                                24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
    struct moments a = moments_of(a1, 15), b = moments_of(b1, 15);
    struct welch w = welch_test(&a, &b);
    CHECK_NEAR(w.t, 2.46, 0.005);
    CHECK_NEAR(w.df, 25.0, 0.05);
    CHECK_NEAR(w.p, 0.021, 0.0005);
}

static void welch_corners(struct check *check)
{
    struct moments one = {1, 0, 1}, still = {1, 0, 3}, other = {2, 0, 3}, tiny = {1, 1e-300, 3};
    CHECK(isnan(welch_test(&one, &still).p));
    CHECK_NEAR(welch_test(&still, &still).p, 1, 0);
    CHECK_NEAR(welch_test(&still, &other).p, 0, 0);
    CHECK(welch_test(&other, &still).t < 0);
    CHECK_NEAR(welch_test(&tiny, &tiny).df, 4, 1e-9);
}

static void holm(struct check *check)
{
    double p[] = {0.04, NAN, 0.01, 0.03, 0.005}; /* sorted: .005*4, .01*3, .03*2, .04*1 */
    holm_adjust(p, 5);
    CHECK_NEAR(p[4], 0.02, 1e-15);
    CHECK_NEAR(p[2], 0.03, 1e-15);
    CHECK_NEAR(p[3], 0.06, 1e-15);
    CHECK_NEAR(p[0], 0.06, 1e-15);
    CHECK(isnan(p[1]));
    double large[] = {0.9, 0.8};
    holm_adjust(large, 2);
    CHECK_NEAR(large[0], 1, 0);
    holm_adjust(large, 0);
}

CHECK_MAIN({"quantiles_of_tables", quantiles_of_tables}, {"closed_forms", closed_forms},
           {"welch_example", welch_example}, {"welch_corners", welch_corners}, {"holm", holm})
