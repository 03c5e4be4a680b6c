/* Creates the process of a command in two steps: the child waits until it may execute the command.
 *
 *   spawn(&child, command, &signals, &err);
 *   ... watch child.pid ...
 *   spawn_go(&child, command[0], &err);
 *   errnum = spawn_failure(&child);          0: the command runs
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_SPAWN_H
#define RECORD_ENGINES_SPAWN_H

#include <sys/types.h>

#include "base/error.h"
#include "record/engines/signals.h"

struct spawn {
    pid_t pid;
    int go, failure; /* ends of pipes, -1: closed */
};

/* Forks; the child waits, then restores the signal mask and dispositions of SIGNALS and executes
 * COMMAND (ends with NULL; looked up in PATH). Returns 0, and the caller calls spawn_failure or
 * spawn_cancel; or -1 with ERR filled. */
int spawn(struct spawn *spawn, char *const *command, const struct signals *signals,
          struct error *err);
/* Lets the child execute COMMAND. Returns 0; or -1 with ERR filled, and the caller calls
 * spawn_cancel. */
int spawn_go(struct spawn *spawn, const char *command, struct error *err);
/* After spawn_go, waits until the child has executed its command or failed to. Returns 0, also if
 * the child was killed before; or the errno for which it could not execute the command: the child
 * has then exited, and the caller waits for it. */
int spawn_failure(struct spawn *spawn);
/* Fills ERR for a COMMAND that could not be executed because of ERRNUM (0: the child was killed
 * before), and sets *STATUS to the exit status for it: 127 not found, 126 not executable; unchanged
 * if killed. Returns -1. */
int spawn_explain(const char *command, int errnum, int *status, struct error *err);
/* Kills the child and waits for it. */
void spawn_cancel(struct spawn *spawn);

#endif
