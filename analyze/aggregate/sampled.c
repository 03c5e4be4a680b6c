/* Intervals of single runs. docs/accuracy.md derives the formulas.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/sampled.h"

#include <math.h>

#include "analyze/attribute/words.h"
#include "analyze/statistics/statistics.h"

/* Two threads run simultaneously if there are more thread samples than samples, apart from a few
 * that are due to migrations, or, because samples may have one thread each, if they use more CPU
 * time than the run lasts. */
#define PARALLEL 1.05
/* A window that the program shares with other programs, or with waiting, is divided as if all of
 * them had the same power. If more than this part of the energy is in _idle and _others, that moves
 * more energy than chance does. */
#define IDLE 0.02
/* Windows may be longer than they seem by this number of mean intervals between samples. An update
 * is in an interval between two samples, the mean length of which is two mean intervals, because
 * moments are more often in long intervals. */
#define EDGES 2
/* If rows change more often than once per window, the energy that windows move is too large to
 * estimate. */
#define MAX_CHANGES 1.0
#define QUANTILE    1.96
#define CONFIDENCE  0.95
/* The mean square and the variance of u (1 - u), where u is the random position in a window at
 * which a row ends. */
#define MOVED_SQUARE   (1.0 / 30)
#define MOVED_VARIANCE (1.0 / 180)

static void add(struct sampled_code *code, const struct row_values *row)
{
    code->time += row->time;
    code->energy += row->energy;
    code->edge += row->time * row->time / row->samples;
    code->squares += row->time > 0 ? row->energy * row->energy / row->time : 0;
}

void sampled_code_of(struct sampled_code *code, const struct aggregate *aggregate, bool shown)
{
    size_t runs = aggregate_run_count(aggregate);
    double in_windows = 0, window = aggregate_window(aggregate, &in_windows), apart = 0, used = 0;
    *code = (struct sampled_code){.runs = runs > 0 ? (double)runs : 1, .window = NAN};
    for (size_t i = 0; i < aggregate_row_count(aggregate); i++) {
        const struct pbin_row *row = aggregate_row(aggregate, i);
        struct row_values values;
        row_values_of(&row->sums, runs, &values);
        used += row->sums.samples > 0 ? values.time : 0;
        if (row->sums.samples <= 0)
            apart += fabs(values.energy);
        else if (!shown || !aggregate_is_excluded(aggregate, row))
            add(code, &values);
    }
    double wall = (double)aggregate_meta(aggregate)->wall_ns / 1e9 / code->runs;
    code->samples = aggregate_deciding_samples(aggregate, shown);
    bool cut = !shown && aggregate_is_cut(aggregate);
    code->edge = cut && code->time > 0 ? code->edge / code->time : 0;
    code->late = aggregate_end_variance(aggregate) - 1;
    if (!attribution_is_wall(aggregate_meta(aggregate)->attribution))
        code->divided = (double)aggregate_meta(aggregate)->divided;
    if (isnan(window))
        code->obstacle = "the updates of the sensor are not known (they are for full profiles with "
                         "--energy-model=share)";
    else if (code->samples > PARALLEL * in_windows || (wall > 0 && used > PARALLEL * wall))
        code->obstacle = "threads run at the same time";
    else if (apart > IDLE * fabs(code->energy))
        code->obstacle = "part of the energy belongs to other programs or idle time";
    else
        code->window = window + EDGES * code->time * code->runs / code->samples;
}

/* The probability that successive samples of a row with the share P are independent. Reduces
 * *ENTRIES to those of all runs that are due to chance. */
static double independence(const struct sampled_code *code, double p, double *entries)
{
    double most = code->samples * p * (1 - p), all = *entries * code->runs;
    all = all < 0.5 ? 0.5 : all; /* a row entered before the first sample is left once */
    *entries = all < most ? all : most;
    return most > 0 ? *entries / most : 0;
}

/* The variance of the time of a row, in squares of the mean interval, that results from dividing
 * CPU time equally among NUMBER samples. P and X: see independence. */
static double divided_variance(const struct sampled_code *code, double p, double x, double number)
{
    double changes = x / (1 - x) * number;
    return number > 1 ? code->samples * p * (1 - p) * (1 - (x < 1 ? decaying_mean(changes) : 0))
                      : 0;
}

double sampled_time(const struct sampled_code *code, double time, double entries)
{
    double p = time / code->time, mean = code->time * code->runs / code->samples;
    if (!(p >= 0 && p <= 1 && code->samples > 0))
        return NAN;
    double x = independence(code, p, &entries);
    double variance = fmax(2 * entries, divided_variance(code, p, x, code->divided));
    double edge = code->edge * code->edge;
    variance = fmax(variance * mean * mean, 2 * p * edge * code->runs) +
               2 * code->late * fmin(entries, code->runs) * edge;
    return QUANTILE * sqrt(variance) / code->runs;
}

static double normal(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

/* Half of an interval that contains a value with a probability of 95 %, for a normal error with the
 * standard deviation SIGMA and a bias of up to MOST in either direction (Imbens and Manski,
 * Econometrica 72, 2004). */
static double with_bias(double sigma, double most)
{
    double low = most, high = most + QUANTILE * sigma;
    for (int i = 0; i < 60 && sigma > 0; i++) {
        double half = (low + high) / 2;
        bool covers = normal((half - most) / sigma) - normal((-half - most) / sigma) >= CONFIDENCE;
        *(covers ? &high : &low) = half;
    }
    return high;
}

double sampled_energy(const struct sampled_code *code, const struct row_values *row)
{
    double p = row->time / code->time, rest = code->time - row->time, entries = row->entries;
    if (!(p >= 0 && p <= 1 && row->samples > 0 && code->samples > 0))
        return NAN;
    if (row->energy == code->energy && row->time == code->time)
        return 0;
    double mean = code->time * code->runs / code->samples, x = independence(code, p, &entries);
    double changes = x / (1 - x) / mean * code->window;
    if (!(changes <= MAX_CHANGES) || !(row->time > 0 && rest > 0))
        return NAN;
    double kept = decaying_mean(changes);
    double own = row->energy / row->time, others = (code->energy - row->energy) / rest;
    double apart = (others - own) / kept;
    double spread = (code->squares - row->energy * own) / rest - others * others;
    double moved = code->time * p * (1 - p) * (1 - kept) * fabs(apart);
    double price = (own + others) / 2, window = code->window;
    double divided = divided_variance(code, p, x, fmin(code->divided, window / mean));
    double variance =
        price * price * mean * mean * fmax(entries * (1 + x - x * x / 2), divided) +
        2 * entries * window * window *
            (apart * apart * MOVED_VARIANCE + fmax(0, spread) / (kept * kept) * MOVED_SQUARE);
    return with_bias(sqrt(variance) / code->runs, moved);
}
