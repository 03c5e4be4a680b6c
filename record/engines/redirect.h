/* Gives signals of a process to its main thread, as the kernel does if the program is not traced.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_REDIRECT_H
#define RECORD_ENGINES_REDIRECT_H

#include "record/engines/tracee.h"

/* THREAD is stopped at a signal, and LEADER is the main thread of its process, or NULL. If the signal was sent to the
 * process and the main thread accepts it, sends it to the main thread, and takes it from THREAD. */
void redirect_to_leader(struct tracee *thread, struct tracee *leader);

/* LEADER is stopped at a signal: if redirect_to_leader has sent it, restores who sent the original. */
void redirect_arrived(struct tracee *leader);

#endif
