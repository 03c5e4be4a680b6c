/* Starts the program under ptrace, stopped before its first instruction.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_LAUNCH_H
#define RECORD_ENGINES_LAUNCH_H

#include <sys/types.h>

#include "base/error.h"
#include "record/engines/signals.h"

/* Forks, seizes the child with the ptrace options OPTIONS and lets it execute COMMAND (ends with
 * NULL). Returns its PID, stopped at PTRACE_EVENT_EXEC; or -1 with ERR filled and *STATUS as in
 * engine.h. */
pid_t launch(char *const *command, unsigned long options, const struct signals *signals,
             int *status, struct error *err);

#endif
