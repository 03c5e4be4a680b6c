/* Repeats system calls that a stop has cut short.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_RESTART_H
#define RECORD_ENGINES_RESTART_H

#include <sys/types.h>

/* The thread TID of process PID is stopped, and its system call is about to return EINTR, although
 * no signal has arrived: makes the thread call the kernel again when it is resumed, if the call can
 * be repeated (only on x86-64; elsewhere, the first argument of the call is lost). */
void restart_call(pid_t pid, pid_t tid);

#endif
