/* 95 % confidence intervals of the time and energy of a row in single runs: how far the samples may be from what really ran.
 *
 * Samples are taken at random moments. Each time a row is entered, it gets the time since the previous sample, and when it is left,
 * it loses the time up to the next sample. If the times between samples are exponential with the mean m, both have the variance m^2,
 * so that the time of a row with e entries has the variance 2 e m^2. This is exact if rows follow each other as a Markov chain, for
 * stays of any length.
 *
 * If CPU time is divided equally among many samples of a thread, it does not show which interval was long. The number of samples in a
 * row then varies like that of independent samples, except for rows that stay for longer than that many samples.
 *
 * Energy is divided with half an interval to each side: its variance is (1 + x - x^2 / 2) e m^2, where x is the probability that
 * successive samples are independent. Energy also depends on the windows of the sensor, within which power is taken to be constant.
 * The energy that this moves from rows with more power to rows with less is computed from the lengths of stays, for two powers that
 * alternate at random, and is part of the interval.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_SAMPLED_H
#define ANALYZE_AGGREGATE_SAMPLED_H

#include "analyze/aggregate/aggregate.h"
#include "analyze/aggregate/row_values.h"

/* All rows in code together. */
struct sampled_code {
    double time, energy;  /* means over the runs [s] [J] */
    double squares;       /* sum of energy^2 / time over the rows [J^2/s] */
    double samples;       /* thread samples that decide about times, of all runs */
    double window;        /* of the sensor [s]; NaN: energies have no interval */
    const char *obstacle; /* why; NULL: they have */
    double runs;
    double
        divided; /* samples of a thread that share its CPU time equally; up to 1: each has its own */
};

/* Computes CODE from all rows that filters do not exclude; those without samples, such as _idle, are not in code. */
void sampled_code_of(struct sampled_code *code, const struct aggregate *aggregate);

/* Half of the 95 % interval of the time of a row [s]; NaN: unknown. Without entries they are assumed to be as many as if
 * samples were independent. */
double sampled_time(const struct sampled_code *code, double time, double entries);

/* The same for its energy [J]; NaN also if the row runs for less than about two windows at a time, if several
 * threads or other programs run at the same time, or the windows are not known. */
double sampled_energy(const struct sampled_code *code, const struct row_values *row);

#endif
