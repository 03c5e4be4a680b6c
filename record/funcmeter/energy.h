/* Reads the power sources while a program is metered, in a separate thread, and interpolates the energy between two
 * moments linearly.
 *
 * Between two readings the power is unknown: the energy that a source counts there may have been used before or after a given
 * moment, and the time of a reading is itself known only to half a step. The error of the energy of an interval is therefore at
 * most twice the energy that was counted between the readings around its ends.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_ENERGY_H
#define RECORD_FUNCMETER_ENERGY_H

#include <stdint.h>

#include "record/power.h"

enum { ENERGY_PERIODS = 4 }; /* the shortest interval, in periods of the source */

struct energy;

/* Opens the sources and starts the thread, which reads them from now on. All is borrowed until energy_delete. Returns NULL
 * with ERR filled. */
struct energy *energy_new(const struct power_options *options, struct reporter *reporter,
                          struct error *err);
/* Reads once more and ends the thread. Returns 0, or -1 with ERR filled when a source had failed. */
int energy_stop(struct energy *energy, struct error *err);
/* NULL is allowed. */
void energy_delete(struct energy *energy);

/* The shortest interval whose energy may be known, before the run [ns]. */
uint64_t energy_shortest(const struct energy *energy);

/* After energy_stop: the time between two readings of the slowest source [ns]. */
uint64_t energy_period(const struct energy *energy);
/* What the value is, as -p names it. Caller frees. */
char *energy_name(const struct energy *energy);

struct energy_amount {
    double joules;
    double error; /* the most that it can be off by */
};
/* The energy between two moments of the run, CLOCK_MONOTONIC [ns]. */
struct energy_amount energy_between(const struct energy *energy, double from, double to);

#endif
