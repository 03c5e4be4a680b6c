/* The processes given with --attach.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_TARGETS_H
#define RECORD_TARGETS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Thread and process IDs. All zero: empty. */
struct targets {
    pid_t *list;
    size_t count, capacity;
};

void targets_free(struct targets *targets);

/* Adds the targets in TEXT: "PID[,TID...]"; "session:SID", all processes of a session;
 * "cgroup:PATH", all processes of a control group and of those below it. Leaves this process out of
 * a session or a group. Returns 0; or -1 with ERR filled if TEXT is malformed (OF_USAGE) or matches
 * no process, or the list of processes cannot be read. */
int targets_add(struct targets *targets, const char *text, struct error *err);

#endif
