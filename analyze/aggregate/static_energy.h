/* Static energy: what the machine consumes whether or not it computes.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_STATIC_ENERGY_H
#define ANALYZE_AGGREGATE_STATIC_ENERGY_H

#include "analyze/aggregate/aggregate.h"

/* Sets PART [rows] to the static energy of each row of AGGREGATE [2^-80 J], over all runs. The parts add up to WATTS
 * times the wall time: for the time while CPUs were busy they are shared by CPU time, and _idle gets the rest. After
 * aggregate_fit they add up to the fitted idle energy instead, and WATTS is not used. WATTS 0 stands for the recorded
 * baseline. Returns 0, or -1 with ERR filled. */
int static_energies(const struct aggregate *aggregate, double watts, exact *part,
                    struct error *err);

#endif
