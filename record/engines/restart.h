/* Lets system calls that a stop has cut short go on.
 *
 *   restart_call    begins: after a stop that no signal follows
 *   restart_follow  at all later stops, until the call has ended
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_RESTART_H
#define RECORD_ENGINES_RESTART_H

#include "record/engines/tracee.h"

/* TRACEE is stopped, perhaps by a signal. If its system call is about to return EINTR, or has transferred only a part,
 * and the thread handles no signal, makes it call the kernel again when it is resumed (only on x86-64;
 * elsewhere, the first argument of the call is lost). */
void restart_call(struct tracee *tracee);

/* TRACEE is stopped at the beginning or end of a call if AT_CALL, otherwise for any other reason.
 * Continues the call of which a part has been transferred, or ends it: if a signal is to be handled, or unless MORE. */
void restart_follow(struct tracee *tracee, bool at_call, bool more);

#endif
