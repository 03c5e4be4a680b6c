/* Moments of runs, and an approximate test for single runs.
 * SPDX-License-Identifier: MIT */
#include "analyze/statistics/statistics.h"

#include <math.h>

void run_moments_add(struct run_moments *to, const struct run_moments *block)
{
    if (block->n == 0)
        return;
    if (to->n == 0) {
        *to = *block;
        return;
    }
    double n = (double)(to->n + block->n), distance = block->mean - to->mean;
    double weight = (double)block->n / n;
    to->squares += block->squares + distance * distance * weight * (double)to->n;
    to->mean += distance * weight;
    to->n += block->n;
}

struct moments run_moments_of(const struct run_moments *from, double least)
{
    double variance = from->n > 1 ? from->squares / (double)(from->n - 1) : 0;
    if (variance < least)
        variance = least;
    return (struct moments){from->mean, variance, from->n};
}

static double share_of(const struct sampled *s)
{
    double share = s->total > 0 ? s->value / s->total : 0;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

double sampling_effect(const struct sampled *a, const struct sampled *b)
{
    double p = share_of(a), q = share_of(b);
    double x = (a->entries + b->entries) / (a->samples * p * (1 - p) + b->samples * q * (1 - q));
    return x < 1 ? (2 - x) / x : isnan(x) ? NAN : 1;
}

/* The variance of the share on a side if the true share is P. */
static double share_variance(const struct sampled *s, double p, double effect, double noise)
{
    double wander = noise * p * (1 - p);
    return p * (1 - p) * effect / s->samples + wander * wander / s->runs;
}

static double value_variance(const struct sampled *s, double value, double effect, double noise)
{
    double p = s->total > 0 ? value / s->total : 0;
    p = p > 1 ? 1 : p;
    return s->total * s->total * p * (1 - p) * effect / s->samples +
           noise * noise * value * value / s->runs;
}

/* Each entry is one observation of the length of a stay. If there are few, the variance is
 * uncertain. */
static double test(double difference, double variance, double entries)
{
    if (!(variance > 0) || !(entries >= 2))
        return NAN;
    return 2 * student_cdf(-fabs(difference) / sqrt(variance), entries - 1);
}

double sampling_test(const struct sampled *a, const struct sampled *b, double noise)
{
    double effect = SAMPLING_EFFECT * sampling_effect(a, b), n = a->samples + b->samples;
    if (!isfinite(effect) || !(a->samples > 0) || !(b->samples > 0))
        return NAN;
    double p = share_of(a), q = share_of(b);
    double share = (p * a->samples + q * b->samples) / n;
    double value = (a->value * a->samples + b->value * b->samples) / n;
    double entries = a->entries + b->entries;
    double by_share = test(
        q - p, share_variance(a, share, effect, noise) + share_variance(b, share, effect, noise),
        entries);
    double by_value = test(
        b->value - a->value,
        value_variance(a, value, effect, noise) + value_variance(b, value, effect, noise), entries);
    if (isnan(by_share) || isnan(by_value))
        return NAN;
    return by_share > by_value ? by_share : by_value;
}

double decaying_mean(double u)
{
    return u > 1e-4 ? 2 * (u - 1 + exp(-u)) / (u * u) : 1 - u / 3;
}
