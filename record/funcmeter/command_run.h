/* Runs the command that is to be metered.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_COMMAND_RUN_H
#define RECORD_FUNCMETER_COMMAND_RUN_H

#include "base/error.h"
#include "record/engines/signals.h"
#include "record/funcmeter/probes.h"

/* Returns the path of the preload library, which is beside this program or where it is installed
 * (caller frees); or NULL with ERR filled. */
char *command_find_library(struct error *err);

/* Runs COMMAND, counted by PROBES if these are not NULL, and passes SIGNALS on to it. Returns 0
 * with *STATUS as from waitpid, or -1 with ERR filled, and *END set if the exit status is not
 * EXIT_DATA. */
int command_run(char *const *command, const struct signals *signals, struct probes *probes,
                int *status, int *end, struct error *err);

#endif
