/* Static energy: the energy that the machine uses whether or not it computes.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_STATIC_ENERGY_H
#define ANALYZE_AGGREGATE_STATIC_ENERGY_H

#include "analyze/aggregate/aggregate.h"

/* Sets PART [rows] to the static energy of each row of AGGREGATE [2^-80 J], over all runs. The
 * parts add up to WATTS (0: the recorded baseline) times the wall time. For the time in which CPUs
 * were busy, they are divided by CPU time; _idle gets the rest. After aggregate_fit, they add up to
 * the fitted idle energy instead, and WATTS is not used. Returns 0, or -1 with ERR filled. */
int static_energies(const struct aggregate *aggregate, double watts, exact *part,
                    struct error *err);

#endif
