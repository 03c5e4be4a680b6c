/* What happens to the samples of an engine: value added, mappings and names looked up, spooled, and
 * composed to a profile at the end. SPDX-License-Identifier: MIT */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "base/error.h"
#include "record/engine.h"
#include "record/options.h"
#include "record/power.h"

struct recorder;

/* Opens PMU, output and spool, so that what cannot work is known before the command runs. OPTIONS
 * and ERR are borrowed until recorder_delete. Returns NULL with ERR filled. */
struct recorder *recorder_new(struct options *options, struct error *err);
/* Frees; without recorder_finish nothing is left on disk. NULL is allowed. */
void recorder_delete(struct recorder *recorder);

/* What an engine's run calls; borrowed until recorder_delete. */
const struct engine_hooks *recorder_hooks(struct recorder *recorder);

/* The power readings of the run, borrowed until recorder_delete; and the energy that its samples have [J], < 0 without
 * a profile. */
const struct power *recorder_power(const struct recorder *recorder);
double recorder_energy(const struct recorder *recorder);

/* Composes the profile of what was recorded. Returns 0, or -1 with ERR filled: then the spool stays
 * where it has a name, and *LEFT is that name (borrowed until recorder_delete), else NULL. */
int recorder_finish(struct recorder *recorder, const struct engine_result *result,
                    const char **left);

#endif
