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
/* Frees the recorder; without recorder_finish no file remains on disk. NULL is allowed. */
void recorder_delete(struct recorder *recorder);

/* Returns the hooks for the run of an engine; borrowed until recorder_delete. */
const struct engine_hooks *recorder_hooks(struct recorder *recorder);

/* Files that remain after a failure; texts are borrowed until recorder_delete. */
struct recorder_left {
    const char *profile; /* it contains the data recorded until then; NULL: not written */
    const char *part; /* the spool, if it has samples that are not in the profile; NULL: removed */
    bool empty;       /* both NULL because there was no sample; an earlier profile is unchanged */
};

/* Composes the profile. Returns 0, or -1 with ERR and LEFT filled. */
int recorder_finish(struct recorder *recorder, const struct engine_result *result,
                    struct recorder_left *left);

/* Return the power sources, borrowed until recorder_delete; and the energy of the samples in the
 * profile [J], < 0: no profile. Both are valid after recorder_finish. */
const struct power *recorder_power(const struct recorder *recorder);
double recorder_energy(const struct recorder *recorder);

#endif
