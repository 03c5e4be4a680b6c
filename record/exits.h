/* The CPU time of processes that have ended, as counted exactly by the kernel: from taskstats,
 * which needs CAP_NET_ADMIN.
 *
 * When any thread of the machine ends, the kernel sends its CPU time, before it notifies perf
 * events or a parent.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_EXITS_H
#define RECORD_EXITS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/raw/raw_extension.h"

struct exits;

/* Begins to listen. Returns NULL if the kernel does not report CPU times; otherwise, the caller
 * calls exits_close. */
struct exits *exits_open(void);
void exits_close(struct exits *exits);

/* Receives the messages that the kernel has sent; it keeps a few thousand. If some are lost, all
 * later CPU times are unknown. */
void exits_read(struct exits *exits);

/* Sets *CPU to the CPU time of all threads of process PID, and removes it. Returns false if it is
 * unknown, or if it is not known whether all threads have ended. */
bool exits_take(struct exits *exits, uint32_t pid, struct raw_cpu *cpu);

#endif
