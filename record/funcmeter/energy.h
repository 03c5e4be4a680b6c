/* Reads the power sources while a program is metered, in a separate thread, and interpolates the energy between two
 * moments linearly.
 *
 * Between two readings, the power is unknown: the energy that a source counts there may have been
 * used before or after a given moment, and the time of a reading itself is known only to half a
 * step. Therefore, the error of the energy of an interval is at most twice the energy that was
 * counted between the readings around its ends.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_ENERGY_H
#define RECORD_FUNCMETER_ENERGY_H

#include <stdint.h>

#include "record/power.h"

enum { ENERGY_PERIODS = 4 }; /* length of the shortest interval, in periods of the source */

struct energy;

/* Opens the sources and starts the thread, which reads them from now on. All arguments are borrowed
 * until energy_delete. Returns NULL with ERR filled. */
struct energy *energy_new(const struct power_options *options, struct reporter *reporter,
                          struct error *err);
/* Reads once more and ends the thread. Returns 0, or -1 with ERR filled if a source has failed. */
int energy_stop(struct energy *energy, struct error *err);
/* NULL is allowed. */
void energy_delete(struct energy *energy);

/* Returns the length of the shortest interval whose energy may be known, before the run [ns]. */
uint64_t energy_shortest(const struct energy *energy);

/* After energy_stop, returns the time between two readings of the slowest source [ns]. */
uint64_t energy_period(const struct energy *energy);
/* Returns the name of the value, as in -p. Caller frees. */
char *energy_name(const struct energy *energy);

struct energy_amount {
    double joules;
    double error; /* upper limit of the error */
};
/* Returns the energy between two moments of the run, CLOCK_MONOTONIC [ns]. */
struct energy_amount energy_between(const struct energy *energy, double from, double to);

#endif
