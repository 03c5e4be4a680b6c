/* Student's t distribution by means of the regularised incomplete beta function.
 * SPDX-License-Identifier: MIT */
#include "analyze/statistics/welch.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

/* A step of the modified Lentz scheme: multiplies H by the convergent that TERM adds. Returns this
 * factor. */
static double lentz_step(double term, double *c, double *d, double *h)
{
    const double tiny = 1e-300;
    *d = 1 + term * *d;
    *c = 1 + term / *c;
    *d = 1 / (fabs(*d) < tiny ? tiny : *d);
    *c = fabs(*c) < tiny ? tiny : *c;
    *h *= *c * *d;
    return *c * *d;
}

/* The continued fraction of the incomplete beta function. It converges fast for x < (a + 1) / (a +
 * b + 2). */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    double h = d;
    for (int m = 1; m <= 10000; m++) {
        double m2 = 2.0 * m;
        lentz_step(m * (b - m) * x / ((a + m2 - 1) * (a + m2)), &c, &d, &h);
        double factor =
            lentz_step(-(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1)), &c, &d, &h);
        if (fabs(factor - 1) < 2 * DBL_EPSILON)
            break;
    }
    return h;
}

/* lgamma writes a global variable; lgamma_r does not. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* I_x(a, b). X1 = 1 - x is a separate argument, because 1 - x loses digits near 1. */
static double incomplete_beta(double x, double x1, double a, double b)
{
    if (x <= 0 || x1 <= 0)
        return x <= 0 ? 0 : 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(x1));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(x1, b, a) / b;
}

/* P(|T| > |t|) */
static double two_sided(double t, double df)
{
    if (isinf(t))
        return 0;
    double square = t * t;
    return incomplete_beta(df / (df + square), square / (df + square), df / 2, 0.5);
}

double student_cdf(double t, double df)
{
    double tail = two_sided(t, df) / 2;
    return t < 0 ? tail : 1 - tail;
}

double student_quantile(double confidence, double df)
{
    double low = 0, high = 1;
    while (1 - two_sided(high, df) < confidence && high < 1e300)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double middle = (low + high) / 2;
        if (1 - two_sided(middle, df) < confidence)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

struct welch welch_test(const struct moments *a, const struct moments *b)
{
    struct welch w = {NAN, NAN, NAN, NAN};
    if (a->n < 2 || b->n < 2)
        return w;
    double difference = b->mean - a->mean;
    double va = a->variance / (double)a->n, vb = b->variance / (double)b->n;
    w.error = sqrt(va + vb > 0 ? va + vb : 0);
    if (va + vb <= 0) { /* all runs have the same value */
        w.t = difference == 0 ? 0 : copysign(INFINITY, difference);
        w.p = difference == 0 ? 1 : 0;
        return w;
    }
    /* from shares of the variance, so that squares of tiny variances do not underflow */
    double sa = va / (va + vb), sb = vb / (va + vb);
    w.t = difference / w.error;
    w.df = 1 / (sa * sa / (double)(a->n - 1) + sb * sb / (double)(b->n - 1));
    w.p = two_sided(w.t, w.df);
    return w;
}

static int compare_values(const void *left, const void *right)
{
    double a = **(double *const *)left, b = **(double *const *)right;
    return (a > b) - (a < b);
}

void holm_adjust(double *p, size_t count)
{
    double **order = mem_zalloc(count > 0 ? count : 1, sizeof *order);
    size_t tests = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            order[tests++] = &p[i];
    qsort(order, tests, sizeof *order, compare_values);
    double least = 0;
    for (size_t i = 0; i < tests; i++) {
        double adjusted = *order[i] * (double)(tests - i);
        least = adjusted > least ? adjusted : least;
        *order[i] = least < 1 ? least : 1;
    }
    free(order);
}
