/* The significance of differences.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "analyze/compare/compare.h"
#include "base/memory.h"

const struct compare_options compare_defaults = {
    .alpha = 0.05, .least_share = 0.01, .noise = SAMPLING_NOISE};

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        "not tested", "not significant", "faster", "slower", "new",
        "gone",       "as the total",    "more",   "fewer",  "less"};
    return names[verdict];
}

static bool is_ratio(enum compare_metric metric)
{
    return metric == COMPARE_POWER || metric == COMPARE_EXECUTION || metric == COMPARE_CALL_TIME;
}

enum compare_test compare_test_of(const struct compare *c, size_t other, enum compare_metric metric)
{
    if (metric == COMPARE_CALLS)
        return TEST_EXACT;
    if (c->sets[0].runs >= 2 && c->sets[other].runs >= 2)
        return TEST_WELCH;
    bool sampled = c->sets[0].total.samples > 0 || c->sets[other].total.samples > 0;
    if (!sampled || is_ratio(metric) || metric == COMPARE_INCLUSIVE)
        return TEST_NONE; /* one run shows no variation of ratios; times of calls are not sampled */
    return TEST_SAMPLING;
}

/* A pair of rows. NULL: missing in the run set. */
struct pair {
    const struct run_set *base, *other;
    const struct run_set_row *a, *b;
};

static double run_samples(const struct run_set *set, const struct run_set_row *row)
{
    return row == NULL ? 0 : row->samples / (double)set->runs;
}

/* The smallest plausible variance, because the resolution of a value is one sample. Without it, a
 * row that has the same small number of samples in each run would seem to have no noise. */
static double least_variance(const struct pair *pair, enum compare_metric metric)
{
    double samples = run_samples(pair->base, pair->a) + run_samples(pair->other, pair->b);
    double values = fabs(run_set_value(pair->base, pair->a, metric)) +
                    fabs(run_set_value(pair->other, pair->b, metric));
    double one = values / samples;
    return samples > 0 && isfinite(one) ? one * one : 0;
}

static struct welch test_runs(const struct pair *pair, enum compare_metric metric)
{
    static const struct run_set_row none;
    struct run_moments zeros[2] = {{pair->base->runs, 0, 0}, {pair->other->runs, 0, 0}};
    bool ratios = is_ratio(metric);
    const struct run_moments *a = ratios ? &none.moments[metric] : &zeros[0];
    const struct run_moments *b = ratios ? &none.moments[metric] : &zeros[1];
    a = pair->a != NULL ? &pair->a->moments[metric] : a;
    b = pair->b != NULL ? &pair->b->moments[metric] : b;
    if (isnan(a->squares) || isnan(b->squares))
        return (struct welch){NAN, NAN, NAN, NAN};
    double least = ratios ? 0 : least_variance(pair, metric);
    struct moments left = run_moments_of(a, least), right = run_moments_of(b, least);
    return welch_test(&left, &right);
}

/* The metric of which a share is a share. */
static enum compare_metric sampled_metric(enum compare_metric metric)
{
    return metric == COMPARE_SHARE           ? COMPARE_TIME
           : metric == COMPARE_SAMPLES_SHARE ? COMPARE_SAMPLES
                                             : metric;
}

static struct sampled sampled_of(const struct run_set *set, const struct run_set_row *row,
                                 enum compare_metric metric)
{
    struct sampled s = {.runs = (double)set->runs};
    s.value = run_set_value(set, row, sampled_metric(metric));
    s.total = run_set_value(set, &set->total, sampled_metric(metric));
    if (metric != sampled_metric(metric)) { /* shares: as if both run sets had equal totals */
        s.value = s.total > 0 ? s.value / s.total : 0;
        s.total = 1;
    }
    s.samples =
        set->moments_sampled < set->total.samples ? set->moments_sampled : set->total.samples;
    s.entries = row == NULL ? 0 : row->entries;
    return s;
}

static bool is_constant(const struct run_set_row *row, enum compare_metric metric)
{
    return row == NULL || row->moments[metric].squares == 0;
}

/* Counts that are the same in all runs of a side are exact, and differ or not. Others are tested
 * over several runs. */
static double test_counts(const struct pair *pair, enum compare_metric metric)
{
    double a = run_set_value(pair->base, pair->a, metric);
    double b = run_set_value(pair->other, pair->b, metric);
    if (isnan(a) || isnan(b))
        return NAN;
    if (is_constant(pair->a, metric) && is_constant(pair->b, metric))
        return a == b ? 1 : 0;
    return pair->base->runs >= 2 && pair->other->runs >= 2 ? test_runs(pair, metric).p : NAN;
}

static double test_pair(const struct compare *c, const struct pair *pair, enum compare_test test,
                        enum compare_metric metric)
{
    if (test == TEST_EXACT)
        return test_counts(pair, metric);
    if (test == TEST_WELCH)
        return test_runs(pair, metric).p;
    if (test == TEST_NONE)
        return NAN;
    struct sampled a = sampled_of(pair->base, pair->a, metric);
    struct sampled b = sampled_of(pair->other, pair->b, metric);
    return sampling_test(&a, &b, c->options.noise);
}

/* A row is always tested for its calls and inclusive time, because it may contain everything
 * else. */
static double largest_share(const struct pair *pair, enum compare_metric metric)
{
    if (metric >= COMPARE_CALLS)
        return 1;
    if (is_ratio(metric))
        metric = COMPARE_TIME;
    double a = run_set_value(pair->base, pair->a, metric) /
               run_set_value(pair->base, &pair->base->total, metric);
    double b = run_set_value(pair->other, pair->b, metric) /
               run_set_value(pair->other, &pair->other->total, metric);
    return fmax(a, b); /* ignores NaN */
}

static enum verdict direction(enum compare_metric metric, bool larger)
{
    switch (metric) {
    case COMPARE_TIME:
    case COMPARE_EXECUTION:
    case COMPARE_INCLUSIVE:
    case COMPARE_CALL_TIME:
        return larger ? VERDICT_SLOWER : VERDICT_FASTER;
    case COMPARE_CALLS:
    case COMPARE_SAMPLES:
        return larger ? VERDICT_MORE : VERDICT_FEWER;
    default:
        return larger ? VERDICT_MORE : VERDICT_LESS;
    }
}

/* The verdict for a pair of rows. LABEL: the row has no code (_idle, ...), and counts as 0 where it
 * is missing. */
static struct significance decide(const struct pair *pair, enum compare_metric metric, double p,
                                  double alpha, bool label)
{
    struct significance j = {p, p <= alpha, VERDICT_NOT_SIGNIFICANT};
    double a = run_set_value(pair->base, pair->a, metric);
    double b = run_set_value(pair->other, pair->b, metric);
    if (pair->a == NULL && !label)
        j.verdict = pair->b == NULL ? VERDICT_NOT_TESTED : VERDICT_NEW;
    else if (pair->b == NULL && !label)
        j.verdict = VERDICT_GONE;
    else if (j.significant)
        j.verdict = direction(metric, b > a);
    else if (isnan(p))
        j.verdict = VERDICT_NOT_TESTED;
    return j;
}

enum { BEYOND = 4 /* standard deviations of noise */ };

double compare_unexplained(const struct compare *c, size_t other, enum compare_metric metric)
{
    if (compare_test_of(c, other, metric) != TEST_SAMPLING || metric == COMPARE_SHARE ||
        metric == COMPARE_SAMPLES_SHARE)
        return 1;
    double ratio = run_set_value(&c->sets[other], &c->sets[other].total, metric) /
                   run_set_value(&c->sets[0], &c->sets[0].total, metric);
    return ratio > 0 && fabs(log(ratio)) > BEYOND * c->options.noise ? ratio : 1;
}

/* Returns whether a tested row has changed by more than noise, in the same direction as a total
 * that has. */
static bool is_as_total(const struct compare *c, const struct pair *pair,
                        enum compare_metric metric, double total)
{
    double ratio =
        run_set_value(pair->other, pair->b, metric) / run_set_value(pair->base, pair->a, metric);
    return total != 1 && ratio > 0 && fabs(log(ratio)) > BEYOND * c->options.noise &&
           (ratio > 1) == (total > 1);
}

/* The probabilities of all rows of run set OTHER, without correction. */
static void test_rows(const struct compare *c, size_t other, enum compare_metric metric, double *p)
{
    enum compare_test test = compare_test_of(c, other, metric);
    for (size_t i = 0; i < c->count; i++) {
        struct pair pair = {&c->sets[0], &c->sets[other], c->rows[i].set[0], c->rows[i].set[other]};
        bool present = pair.a != NULL || pair.b != NULL;
        if (test == TEST_SAMPLING && compare_is_kernel(c, &c->rows[i]))
            present = false; /* for one run, the effect of other programs is unknown */
        p[i] = present && largest_share(&pair, metric) >= c->options.least_share
                   ? test_pair(c, &pair, test, metric)
                   : NAN;
    }
}

static double test_total(const struct compare *c, size_t other, enum compare_metric metric)
{
    enum compare_test test = compare_test_of(c, other, metric);
    const struct run_set *a = &c->sets[0], *b = &c->sets[other];
    struct pair pair = {a, b, &a->total, &b->total};
    if (test == TEST_EXACT)
        return test_counts(&pair, metric);
    bool is_whole = metric == COMPARE_SHARE || metric == COMPARE_SAMPLES_SHARE;
    return test == TEST_WELCH && !is_whole ? test_runs(&pair, metric).p : NAN;
}

/* Decides for each row of run set OTHER, whose probabilities are P, and for its total, whose
 * probability is WHOLE. */
static void decide_all(const struct compare *c, size_t other, enum compare_metric metric,
                       const double *p, double whole, struct significance *results)
{
    double total = compare_unexplained(c, other, metric);
    struct pair pair = {.base = &c->sets[0], .other = &c->sets[other]};
    for (size_t i = 0; i < c->count; i++) {
        pair.a = c->rows[i].set[0];
        pair.b = c->rows[i].set[other];
        results[i] =
            decide(&pair, metric, p[i], c->options.alpha, compare_is_label(c, &c->rows[i]));
        if (results[i].verdict == VERDICT_NOT_SIGNIFICANT && is_as_total(c, &pair, metric, total))
            results[i].verdict = VERDICT_AS_TOTAL;
    }
    pair.a = &pair.base->total;
    pair.b = &pair.other->total;
    results[c->count] = decide(&pair, metric, whole, c->options.alpha, false);
}

/* A table shows all run sets, so that the rows of all of them are corrected together. The same
 * applies to the totals. */
struct significance *compare_significance(const struct compare *c, enum compare_metric metric)
{
    size_t others = c->set_count - 1;
    struct significance *results = mem_zalloc(c->set_count * (c->count + 1), sizeof *results);
    double *p = mem_zalloc(others * c->count + 1, sizeof *p), totals[MAX_RUN_SETS];
    for (size_t s = 0; s < others; s++) {
        test_rows(c, s + 1, metric, p + s * c->count);
        totals[s] = test_total(c, s + 1, metric);
    }
    holm_adjust(p, others * c->count);
    holm_adjust(totals, others);
    for (size_t s = 0; s < others; s++)
        decide_all(c, s + 1, metric, p + s * c->count, totals[s],
                   results + (s + 1) * (c->count + 1));
    free(p);
    return results;
}

double compare_interval(const struct compare *c, size_t other, enum compare_metric metric,
                        size_t row)
{
    struct pair pair = {&c->sets[0], &c->sets[other], c->rows[row].set[0], c->rows[row].set[other]};
    if (compare_test_of(c, other, metric) != TEST_WELCH)
        return NAN;
    struct welch w = test_runs(&pair, metric);
    return w.df > 0 ? student_quantile(0.95, w.df) * w.error : w.error;
}
