/* Creates the process of a command, which waits for permission to execute it.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_SPAWN_H
#define RECORD_ENGINES_SPAWN_H

#include <sys/types.h>

#include "base/error.h"
#include "record/engines/signals.h"

struct spawn {
    pid_t pid;
    int go, failure; /* ends of pipes */
};

/* Forks; the child has the signal mask and dispositions of SIGNALS and waits. Returns 0, and the caller calls
 * spawn_go or spawn_cancel; or -1 with ERR filled. */
int spawn(struct spawn *spawn, char *const *command, const struct signals *signals,
          struct error *err);
/* Lets the child execute COMMAND and waits until it does. Returns 0; or -1 with ERR filled and *STATUS the exit status
 * for it (127 not found, 126 not executable, 1 anything else), the child having ended. */
int spawn_go(struct spawn *spawn, const char *command, int *status, struct error *err);
/* Ends the child without executing anything. */
void spawn_cancel(struct spawn *spawn);

#endif
