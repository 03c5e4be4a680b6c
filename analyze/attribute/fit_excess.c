/* The amount by which the products of estimated CPU times are too large.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_excess.h"

#include <math.h>

#define MAX_OF_MEAN 20.0 /* times the mean; longer intervals are gaps */
#define MAX_SHAPE   1e3  /* of the gamma distribution: intervals are equal */
#define MIN_SHAPE   0.5
#define LONG_STAY   1e-2 /* rates are in units of 1 / mean interval */
#define SHORT_STAY  1e1
#define SHORT_RATE  1.5 /* two to three rows, in which threads stay for about an interval */

void fit_excess_add(struct fit_excess *e, const double *ns, const uint16_t *of, size_t threads,
                    size_t count)
{
    double all = 0, sum = 0, squares = 0, one = 0, two = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        all += ns[i];
    double most = MAX_OF_MEAN * all / (double)count;
    for (size_t i = 2; i < count; i++) {
        double d = ns[i], both = ns[i - 1] + d;
        if (!(d > 0) || !(both > d) || both > most)
            continue;
        const uint16_t *row = of + threads * i, *before = row - threads,
                       *earlier = before - threads;
        for (size_t t = 0; t < threads; t++) {
            one += row[t] != before[t] ? d * d : 0;
            two += row[t] != earlier[t] ? both * both : 0;
        }
        kept++;
        sum += d;
        squares += d * d;
    }
    if (!exact_fits(squares + one + two, 0, 20))
        return;
    e->count += (exact)kept;
    e->ns += exact_of_double(rint(sum), 0);
    e->squares += exact_of_double(rint(squares), 0);
    e->changes += exact_of_double(rint(one), 0);
    e->changes_of_two += exact_of_double(rint(two), 0);
}

void fit_excess_merge(struct fit_excess *to, const struct fit_excess *from)
{
    to->count += from->count;
    to->ns += from->ns;
    to->squares += from->squares;
    to->changes += from->changes;
    to->changes_of_two += from->changes_of_two;
}

/* The moments of intervals X with a gamma distribution; decay[n] is E(X^n exp(-s X)). */
struct intervals {
    double mean, square, decay[3];
};

/* The sum of COUNT intervals that have the mean 1 and a gamma distribution with SHAPE. */
static struct intervals gamma_intervals(double shape, double count, double s)
{
    double k = shape * count, scale = 1 / shape, part = scale / (1 + s * scale);
    double decay = exp(-k * log1p(s * scale));
    return (struct intervals){count,
                              k * (k + 1) * scale * scale,
                              {decay, decay * k * part, decay * k * (k + 1) * part * part}};
}

/* The mean square of intervals that begin in one row and end in another, per time. */
static double changes_of(struct intervals x)
{
    return (x.square - x.decay[2]) / x.mean;
}

/* The variance of CPU times that are interpolated linearly between samples, per time, minus the
 * variance of the true ones. S: the rate at which the correlation between the rows of a thread at
 * two moments decays. */
static double excess_of(struct intervals x, double s)
{
    double own = (x.square + x.mean * x.mean) / 2;
    double next = (2 * x.mean * x.decay[1] + x.mean * x.mean * x.decay[0] + x.decay[2]) / 4;
    double end = x.mean * x.decay[0] + x.decay[1];
    double later = end * end / 4 / (1 - x.decay[0]);
    return (own + 2 * (next + later)) / x.mean - 2 / s;
}

/* The rate S for which the ratio of changes in D to changes in d is RATIO. The ratio decreases with
 * S. */
static double find_rate(double shape, double ratio)
{
    double low = log(LONG_STAY), high = log(SHORT_STAY);
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2, s = exp(middle);
        if (changes_of(gamma_intervals(shape, 2, s)) / changes_of(gamma_intervals(shape, 1, s)) >
            ratio)
            low = middle;
        else
            high = middle;
    }
    return exp(low);
}

static bool is_empty(const struct fit_excess *e)
{
    return e->changes <= 0 || e->count <= 0 || e->ns <= 0;
}

/* The shape of the gamma distribution that has the mean square of the intervals. */
static double shape_of(const struct fit_excess *e)
{
    double count = (double)e->count, ns = (double)e->ns;
    double spread = (double)e->squares * count / (ns * ns) - 1;
    return fmin(MAX_SHAPE, fmax(MIN_SHAPE, spread > 0 ? 1 / spread : MAX_SHAPE));
}

static double rate_of(const struct fit_excess *e)
{
    double overlaps = 2; /* each interval is part of two D */
    return find_rate(shape_of(e), (double)e->changes_of_two / (double)e->changes / overlaps);
}

double fit_excess_part(const struct fit_excess *e)
{
    if (is_empty(e))
        return 1;
    double shape = shape_of(e), s = rate_of(e);
    double all = excess_of(gamma_intervals(shape, 1, s), s);
    double half = excess_of(gamma_intervals(shape, 2, s), s);
    return all / (half - all);
}

bool fit_excess_is_most(const struct fit_excess *e)
{
    return !is_empty(e) && rate_of(e) > SHORT_RATE;
}
