/* Quantiles against published tables, moments of blocks, the test of single runs.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "analyze/statistics/statistics.h"

/* One-sided quantiles of Student's t as standard tables print them (three decimals). */
static const double levels[] = {0.90, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995};
static const struct {
    double df, t[7];
} table[] = {
    {1, {3.078, 6.314, 12.706, 31.821, 63.657, 318.309, 636.619}},
    {2, {1.886, 2.920, 4.303, 6.965, 9.925, 22.327, 31.599}},
    {3, {1.638, 2.353, 3.182, 4.541, 5.841, 10.215, 12.924}},
    {4, {1.533, 2.132, 2.776, 3.747, 4.604, 7.173, 8.610}},
    {5, {1.476, 2.015, 2.571, 3.365, 4.032, 5.893, 6.869}},
    {6, {1.440, 1.943, 2.447, 3.143, 3.707, 5.208, 5.959}},
    {8, {1.397, 1.860, 2.306, 2.896, 3.355, 4.501, 5.041}},
    {10, {1.372, 1.812, 2.228, 2.764, 3.169, 4.144, 4.587}},
    {15, {1.341, 1.753, 2.131, 2.602, 2.947, 3.733, 4.073}},
    {20, {1.325, 1.725, 2.086, 2.528, 2.845, 3.552, 3.850}},
    {30, {1.310, 1.697, 2.042, 2.457, 2.750, 3.385, 3.646}},
    {40, {1.303, 1.684, 2.021, 2.423, 2.704, 3.307, 3.551}},
    {60, {1.296, 1.671, 2.000, 2.390, 2.660, 3.232, 3.460}},
    {120, {1.289, 1.658, 1.980, 2.358, 2.617, 3.160, 3.373}},
};

static void quantiles_as_printed(struct check *check)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (size_t j = 0; j < 7; j++) {
            double t = student_quantile(2 * levels[j] - 1, table[i].df);
            if (fabs(t - table[i].t[j]) > 0.000501)
                CHECK_FAIL("t(%g, %g) is %.6f, tables say %.3f", levels[j], table[i].df, t,
                           table[i].t[j]);
            CHECK(fabs(student_cdf(t, table[i].df) - levels[j]) < 1e-12);
            CHECK(fabs(student_cdf(-t, table[i].df) - (1 - levels[j])) < 1e-12);
        }
}

static void cdf_in_closed_form(struct check *check)
{
    for (double t = -20; t <= 20; t += 0.37) {
        CHECK(fabs(student_cdf(t, 1) - (0.5 + atan(t) / acos(-1))) < 1e-14);
        CHECK(fabs(student_cdf(t, 2) - (0.5 + t / (2 * sqrt(2 + t * t)))) < 1e-14);
    }
}

static void moments_of_blocks(struct check *check)
{
    static const double values[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    for (size_t cut = 0; cut <= 11; cut++) {
        struct run_moments part[2] = {{0}}, all = {0};
        for (size_t i = 0; i < 11; i++) {
            struct run_moments one = {1, values[i], 0};
            run_moments_add(&part[i >= cut], &one);
        }
        run_moments_add(&all, &part[0]);
        run_moments_add(&all, &part[1]);
        CHECK_EQ(all.n, 11);
        CHECK(fabs(all.mean - 4) < 1e-14);
        CHECK(fabs(all.squares - 56) < 1e-13); /* 232 - 11 * 16 */
    }
}

static void least_variance(struct check *check)
{
    struct run_moments m = {5, 2, 8};
    CHECK(run_moments_of(&m, 0).variance == 2);
    CHECK(run_moments_of(&m, 3).variance == 3);
    m.squares = NAN;
    CHECK(isnan(run_moments_of(&m, 3).variance));
}

static struct sampled side(double value, double entries)
{
    return (struct sampled){
        .value = value, .total = 1, .samples = 1000, .entries = entries, .runs = 1};
}

static void effect_of_stays(struct check *check)
{
    struct sampled a = side(0.5, 250), b = side(0.5, 250);
    CHECK(sampling_effect(&a, &b) == 1); /* as independent samples: n p (1 - p) entries */
    a.entries = b.entries = 400;
    CHECK(sampling_effect(&a, &b) == 1); /* never better than independent samples */
    a.entries = b.entries = 125;
    CHECK(sampling_effect(&a, &b) == 3);
    a.entries = b.entries = 0;
    CHECK(isinf(sampling_effect(&a, &b)) && isnan(sampling_test(&a, &b, 0)));
    a.entries = NAN;
    CHECK(isnan(sampling_effect(&a, &b)) && isnan(sampling_test(&a, &b, 0)));
}

static void share_and_value_must_both_differ(struct check *check)
{
    struct sampled a = side(0.5, 250), b = side(0.25, 190), same = side(0.5, 250);
    CHECK(sampling_test(&a, &same, 0) == 1);
    CHECK(sampling_test(&a, &b, 0) < 1e-9);
    CHECK(sampling_test(&a, &b, 1) > 0.05); /* that much noise explains the difference */
    b.total = 0.5;                          /* the machine is twice as fast: the same share */
    CHECK(sampling_test(&a, &b, 0) > 0.99);
    struct sampled longer = side(0.5, 250);
    longer.total = 2; /* another row took more time: the value is the same */
    CHECK(sampling_test(&a, &longer, 0) > 0.99);
}

CHECK_MAIN({"quantiles_as_printed", quantiles_as_printed},
           {"cdf_in_closed_form", cdf_in_closed_form}, {"moments_of_blocks", moments_of_blocks},
           {"least_variance", least_variance}, {"effect_of_stays", effect_of_stays},
           {"share_and_value_must_both_differ", share_and_value_must_both_differ})
