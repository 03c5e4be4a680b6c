/* Random numbers for the times of samples: each number alone is uniform, and sums of even ones vary
 * little.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "record/random.h"

enum { NUMBERS = 320000, PARTS = 100 };

/* 99.99 % of uniform numbers have a chi-squared below 161 with 99 degrees of freedom. */
static void are_uniform(struct check *check, double (*draw)(struct random *))
{
    struct random random;
    int counts[PARTS] = {0};
    random_start(&random, 20261126);
    for (int i = 0; i < NUMBERS; i++) {
        double number = draw(&random);
        CHECK(number > 0 && number < 1);
        counts[(int)(number * PARTS)]++;
    }
    double expected = (double)NUMBERS / PARTS, chi = 0;
    for (int i = 0; i < PARTS; i++)
        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    CHECK(chi < 161);
}

static void uniform(struct check *check)
{
    are_uniform(check, random_uniform);
}

static void even(struct check *check)
{
    are_uniform(check, random_even);
}

/* The mean square by which SUMMED exponential intervals differ from their mean. */
static double spread(double (*draw)(struct random *), int summed)
{
    struct random random;
    double squares = 0;
    int sums = NUMBERS / summed;
    random_start(&random, 1);
    for (int i = 0; i < sums; i++) {
        double sum = -summed;
        for (int j = 0; j < summed; j++)
            sum -= log(draw(&random));
        squares += sum * sum;
    }
    return squares / sums;
}

static void sums(struct check *check)
{
    CHECK(fabs(spread(random_uniform, 100) - 100) < 10);
    CHECK(spread(random_even, 100) < 15);
    CHECK(spread(random_even, RANDOM_STRATA) < 1.3); /* in step with the strata */
}

/* The next number is nearly independent of this one: intervals must not follow a pattern. */
static void order(struct check *check)
{
    struct random random;
    double sum = 0, last;
    random_start(&random, 7);
    last = random_even(&random);
    for (int i = 0; i < NUMBERS; i++) {
        double number = random_even(&random);
        sum += (last - 0.5) * (number - 0.5) * 12;
        last = number;
    }
    CHECK(fabs(sum / NUMBERS + 1.0 / RANDOM_STRATA) < 0.01);
}

CHECK_MAIN({"uniform", uniform}, {"even", even}, {"sums", sums}, {"order", order})
