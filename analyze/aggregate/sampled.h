/* The 95 % confidence intervals of the time and energy of a row in single runs: how far estimates
 * from samples may be from the truth.
 *
 * Samples are taken at random moments. Each time a row is entered, it gets the time since the
 * previous sample; each time it is left, it loses the time until the next sample. If the times
 * between samples are exponential with the mean m, both have the variance m^2, so that the time of
 * a row with e entries has the variance 2 e m^2. This is exact, for stays of any length, if rows
 * follow each other as a Markov chain.
 *
 * If CPU time is divided equally among many samples of a thread, it does not show which intervals
 * were long. The number of samples in a row then varies like that of independent samples, except
 * for rows that stay for longer than this number of samples.
 *
 * Energy is divided with half an interval to each side: its variance is (1 + x - x^2 / 2) e m^2,
 * where x is the probability that successive samples are independent. Energy also depends on the
 * windows of the sensor, within which power is assumed to be constant. This moves energy from rows
 * with more power to rows with less. The amount is computed from the lengths of stays, for two
 * powers that alternate at random, and is part of the interval.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_SAMPLED_H
#define ANALYZE_AGGREGATE_SAMPLED_H

#include "analyze/aggregate/aggregate.h"
#include "analyze/aggregate/row_values.h"

/* All rows with code together, or those that filters do not exclude. */
struct sampled_code {
    double time, energy;  /* means over the runs [s] [J] */
    double squares;       /* sum of energy^2 / time over the rows [J^2/s] */
    double samples;       /* of all runs: thread samples that determine times */
    double window;        /* of the sensor [s]; NaN: energies have no interval */
    const char *obstacle; /* the reason if energies have no interval, otherwise NULL */
    double runs;
    double divided; /* samples of a thread that share its CPU time equally; 1 or less: none */
    /* If samples were selected by time, the mean interval of those that found code, by their times
     * [s]: the time of all code is uncertain by one at each end. Otherwise, and for shares, 0. */
    double edge;
    double late; /* additional variance at each end, because threads get CPU time late [edge^2] */
};

/* Computes CODE from all rows or, for shares in them, from those SHOWN, which filters do not
 * exclude: the time of a row is not more certain because other rows are not shown. Rows without
 * samples, such as _idle, have no code. */
void sampled_code_of(struct sampled_code *code, const struct aggregate *aggregate, bool shown);

/* Half of the 95 % interval of the time of a row [s]; NaN: unknown. If samples were selected by
 * time, the row begins and ends at an unknown moment there, with the probability of its share. If
 * ENTRIES are unknown, they are assumed to be as many as if samples were independent. */
double sampled_time(const struct sampled_code *code, double time, double entries);

/* Half of the 95 % interval of the energy of a row [J]. NaN: the time is unknown, the row runs for
 * less than about two windows at a time, several threads or other programs run simultaneously, or
 * the windows are unknown. */
double sampled_energy(const struct sampled_code *code, const struct row_values *row);

#endif
