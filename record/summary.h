/* The summary that sampler prints on standard error after a run.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_SUMMARY_H
#define RECORD_SUMMARY_H

#include "record/engine.h"
#include "record/options.h"
#include "record/power.h"

/* Prints one line about the samples, and the balance of energy if power was measured; with -d,
 * details. SAMPLED: energy of the documented samples [J]; < 0: no profile. */
void summary_print(const struct options *options, const struct engine *engine,
                   const struct engine_result *result, const struct power_summary *power,
                   double sampled);

#endif
