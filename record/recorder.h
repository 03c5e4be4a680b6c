/* What happens to what an engine observes: mappings and names are looked up, samples and power readings spooled, and
 * composed to a profile at the end.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "base/error.h"
#include "record/engine.h"
#include "record/options.h"

struct recorder;

/* Opens power sources, output and spool, so that what cannot work is known before the command runs. OPTIONS, ENGINE
 * and ERR are borrowed until recorder_delete. Returns NULL with ERR filled. */
struct recorder *recorder_new(struct options *options, const struct engine *engine,
                              struct error *err);
/* Frees; without recorder_finish nothing is left on disk. NULL is allowed. */
void recorder_delete(struct recorder *recorder);

/* What an engine's run calls; borrowed until recorder_delete. */
const struct engine_hooks *recorder_hooks(struct recorder *recorder);

/* Composes the profile of what was recorded. Returns 0; or -1 with ERR filled. Then the profile is there as far as it
 * went; or, if it could not be written, the spool stays where it has a name, and *LEFT is that name (borrowed until
 * recorder_delete), else NULL. */
int recorder_finish(struct recorder *recorder, const struct engine_result *result,
                    const char **left);

/* What the power sources said, borrowed until recorder_delete; and the energy of the samples in the profile [J],
 * < 0: there is none. Both after recorder_finish. */
const struct power *recorder_power(const struct recorder *recorder);
double recorder_energy(const struct recorder *recorder);

#endif
