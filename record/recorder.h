/* Records what an engine observes: looks up mappings and names, spools samples and power readings, and composes the
 * profile at the end.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "base/error.h"
#include "record/engine.h"
#include "record/options.h"

struct recorder;

/* Opens power sources, output and spool, so that errors are reported before the command runs. OPTIONS, ENGINE and ERR
 * are borrowed until recorder_delete. Returns NULL with ERR filled. */
struct recorder *recorder_new(struct options *options, const struct engine *engine,
                              struct error *err);
/* Frees the recorder; without recorder_finish nothing remains on disk. NULL is allowed. */
void recorder_delete(struct recorder *recorder);

/* The hooks for the run of an engine; borrowed until recorder_delete. */
const struct engine_hooks *recorder_hooks(struct recorder *recorder);

/* Composes the profile. Returns 0, or -1 with ERR filled. After a failure the profile contains what was recorded until
 * then; or, if it could not be written, the spool remains if it has a name, and *LEFT is that name (borrowed until
 * recorder_delete), else NULL. */
int recorder_finish(struct recorder *recorder, const struct engine_result *result,
                    const char **left);

/* The power sources, borrowed until recorder_delete; and the energy of the samples in the profile [J], < 0: no profile.
 * Both after recorder_finish. */
const struct power *recorder_power(const struct recorder *recorder);
double recorder_energy(const struct recorder *recorder);

#endif
