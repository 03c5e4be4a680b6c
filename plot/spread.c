/* The distribution of weighted values.
 * SPDX-License-Identifier: MIT */
#include "plot/spread.h"

#include <math.h>
#include <stdlib.h>

const double spread_reach = 2.5;
const double spread_tail = 0.005;

static int compare_values(const void *left, const void *right)
{
    double a = ((const struct spread_value *)left)->value;
    double b = ((const struct spread_value *)right)->value;
    return (a > b) - (a < b);
}

static double weight_of(const struct spread *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; i++)
        sum += s->values[i].weight;
    return sum;
}

void spread_sort(struct spread *s)
{
    size_t kept = 0;
    double sum = 0;
    for (size_t i = 0; i < s->count; i++)
        if (isfinite(s->values[i].value) && s->values[i].weight > 0)
            s->values[kept++] = s->values[i];
    s->count = kept;
    qsort(s->values, kept, sizeof *s->values, compare_values);
    for (size_t i = 0; i < kept; i++)
        sum += s->values[i].weight * s->values[i].value;
    s->mean = s->low = s->high = s->least = NAN;
    if (kept == 0)
        return;
    s->mean = sum / weight_of(s);
    double first = s->values[0].value;
    s->least = first >= 0 ? 0 : first >= s->bound ? s->bound : -INFINITY;
    s->low = s->weighted ? spread_quantile(s, spread_tail) : first;
    s->high = s->weighted ? spread_quantile(s, 1 - spread_tail) : s->values[kept - 1].value;
}

void spread_free(struct spread *s)
{
    free(s->name);
    free(s->values);
}

double spread_effective(const struct spread *s)
{
    double sum = weight_of(s), squares = 0;
    for (size_t i = 0; i < s->count; i++)
        squares += s->values[i].weight * s->values[i].weight;
    return sum * sum / squares;
}

static double quantile_of_runs(const struct spread *s, double part)
{
    double at = part * (double)(s->count - 1);
    size_t below = (size_t)at;
    double rest = at - (double)below, value = s->values[below].value;
    return below + 1 < s->count ? value + rest * (s->values[below + 1].value - value) : value;
}

double spread_quantile(const struct spread *s, double part)
{
    if (!s->weighted)
        return quantile_of_runs(s, part);
    double wanted = part * weight_of(s) * (1 - 1e-12), sum = s->values[0].weight; /* rounding */
    size_t i = 0;
    while (sum < wanted && i + 1 < s->count)
        sum += s->values[++i].weight;
    return s->values[i].value;
}

struct box spread_box(const struct spread *s)
{
    double q1 = spread_quantile(s, 0.25), q3 = spread_quantile(s, 0.75), reach = 1.5 * (q3 - q1);
    size_t first = 0, last = s->count - 1;
    while (s->values[first].value < q1 - reach)
        first++;
    while (s->values[last].value > q3 + reach)
        last--;
    return (struct box){fmin(s->values[first].value, q1), q1, spread_quantile(s, 0.5), q3,
                        fmax(s->values[last].value, q3)};
}

double spread_bandwidth(const struct spread *s, double largest)
{
    double n = spread_effective(s), total = weight_of(s), sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        double distance = s->values[i].value - s->mean;
        sum += s->values[i].weight / total * distance * distance;
    }
    double deviation = n > 1 ? sqrt(sum * n / (n - 1)) : 0;
    double range = (spread_quantile(s, 0.75) - spread_quantile(s, 0.25)) / 1.34;
    double least = range > 0 && range < deviation ? range : deviation;
    return fmax(0.9 * least * pow(n, -0.2), 1e-4 * largest);
}

double spread_density(const struct spread *s, double at, double width)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        double distance = (at - s->values[i].value) / width;
        sum += s->values[i].weight * exp(-0.5 * distance * distance);
    }
    return sum;
}
