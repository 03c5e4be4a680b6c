/* The amount by which the products of CPU times are too large if each sample has its own interval.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_own.h"

#include <math.h>

#include "analyze/statistics/statistics.h"

#define LONG_STAY   1e-3 /* rates are in units of 1 / interval */
#define SHORT_STAY  1e1
#define SHORT_RATE  1.5  /* two to three rows, in which threads stay for about an interval */
#define MIN_CHANGES 0.15 /* fraction of samples; single ones in the kernel are fewer */
#define MIN_DIVIDED 8.   /* samples that share CPU time, at least */
#define MIN_LENGTH  1e7  /* time over which they share it, at least [ns] */
#define MAX_PART    4.

void fit_own_add(struct fit_own *own, const struct fit_own_sample *s)
{
    const double most = 0x1p62; /* [ns^2]: from intervals of two seconds; longer ones are gaps */
    double product = s->ns * s->ns_before;
    if (!(product < most) || !(s->ns < most))
        return;
    int64_t rounded = (int64_t)product;
    own->count++;
    own->ns += (int64_t)s->ns;
    own->inside += s->inside;
    own->paired += s->paired;
    own->changes += s->changed ? rounded : 0;
    own->changes_of_two += s->changed_of_two ? rounded : 0;
}

void fit_own_merge(struct fit_own *to, const struct fit_own *from)
{
    to->kind = from->kind != PBIN_OWN_NONE ? from->kind : to->kind;
    to->count += from->count;
    to->ns += from->ns;
    to->inside += from->inside;
    to->paired += from->paired;
    to->changes += from->changes;
    to->changes_of_two += from->changes_of_two;
}

static bool is_empty(const struct fit_own *own)
{
    return own->changes <= 0 || own->paired <= 0;
}

/* The rate, per interval, at which the correlation between the rows of a thread at two moments
 * decays. */
static double rate_of(const struct fit_own *own)
{
    double kept = (double)own->changes_of_two / (double)own->changes - 1; /* after one interval */
    double rate = own->kind == PBIN_OWN_ALIKE ? -log(kept) : 1 / kept - 1;
    return kept > 0 && rate < SHORT_STAY ? fmax(rate, LONG_STAY) : SHORT_STAY;
}

/* The number of samples that share CPU time: those of a window, unless it is long. */
static double divided_among(const struct fit_own *own)
{
    double count = (double)own->count, windows = count - (double)own->inside;
    double most = fmax(MIN_DIVIDED, MIN_LENGTH * count / (double)own->ns);
    return windows * most > count ? count / windows : most;
}

/* The mean of a correlation that decays with rate 1, from the beginning of a time U to any moment
 * in it. */
static double mean_from_begin(double u)
{
    return -expm1(-u) / u;
}

/* The variance of CPU times with equal intervals, per time and interval, in units of p (1 - p). S:
 * rate per interval, N: samples in a window. Without the ends of the window, it is the error of a
 * sum with a random phase. */
static double excess_alike(double s, double n)
{
    double inner = s < 1e-2 ? s / 6 : 1 / tanh(s / 2) - 2 / s, u = s * n;
    return inner + (1 - 2 * mean_from_begin(u) + decaying_mean(u)) / (6 * n);
}

double fit_own_part(const struct fit_own *own)
{
    if (is_empty(own))
        return 1;
    double s = rate_of(own), n = divided_among(own);
    double paired = 2 * (double)own->paired / (double)own->count;
    double excess, change;
    if (own->kind == PBIN_OWN_ALIKE) {
        excess = excess_alike(s, n);
        change = -expm1(-s);
    } else {
        excess = 1 - decaying_mean(s * n);
        change = s / (1 + s);
    }
    return fmin(MAX_PART, excess / (change * fmin(paired, 1)));
}

bool fit_own_is_most(const struct fit_own *own)
{
    if (is_empty(own) || rate_of(own) <= SHORT_RATE)
        return false;
    double all = (double)own->ns * (double)own->ns / (double)own->count;
    return (double)own->changes > MIN_CHANGES * all;
}

double fit_own_end_variance(enum pbin_own kind)
{
    return kind == PBIN_OWN_RANDOM ? 2.5 : 1;
}
