/* The static part of energies: what the machine draws whether or not it computes.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_STATIC_ENERGY_H
#define ANALYZE_AGGREGATE_STATIC_ENERGY_H

#include "analyze/aggregate/aggregate.h"

/* Sets PART [rows] to the static energy of each row of AGGREGATE [2^-80 J], over all runs. Their sum is WATTS times the wall
 * time: code shares it by CPU time while CPUs were busy, and _idle has that of other times. After aggregate_fit it is the
 * fitted idle energy instead, and WATTS is not used. WATTS 0: the baseline that was recorded. Returns 0, or -1 with ERR
 * filled. */
int static_energies(const struct aggregate *aggregate, double watts, exact *part,
                    struct error *err);

#endif
