/* Counts calls with breakpoints of the kernel (uprobes): for programs that cannot load the preload
 * library, and for functions that cannot be changed. A call costs about a hundred times as much as
 * with a hook, and is not timed.
 *
 *   probes = probes_new(planner, returns, err);     after the planner knows the functions
 *   probes_watch(probes, pid, err);                 a process that is about to execute the command
 *   ... the command ends ...
 *   probes_read(probes, function, &calls, &returned);
 *   probes_delete(probes);
 *
 * Each function has an event in tracefs, whose name contains our process ID, and a counter of
 * perf_event_open, which is inherited by all threads and processes that the command starts. The
 * counters are read at the end.
 *
 * The kernel inserts breakpoints into a new program only while its own task has a counter. However,
 * if a task with the same counters runs next on a CPU, the kernel exchanges the counters of the
 * two, unless they use PERF_SAMPLE_READ (which inherited counters may do since Linux 6.12). On
 * older kernels, a counter of all processes, which is not read, keeps the breakpoints.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_PROBES_H
#define RECORD_FUNCMETER_PROBES_H

#include <sys/types.h>

#include "record/funcmeter/planner.h"

struct probes;

/* Returns whether this process may count with breakpoints. */
bool probes_permitted(void);

/* Makes events for the functions of PLANNER that get breakpoints; RETURNS: also for their returns,
 * if these can be watched. Returns NULL with ERR filled. */
struct probes *probes_new(const struct planner *planner, bool returns, struct error *err);
/* Returns how many events could not be removed; the next probes_new removes them after this process
 * has ended. NULL is allowed. */
unsigned probes_delete(struct probes *probes);

/* Counts in PID after its next exec, and in the threads and processes that it starts. Returns 0, or
 * -1 with ERR filled. */
int probes_watch(struct probes *probes, pid_t pid, struct error *err);

/* Returns whether returns are counted. */
bool probes_returns(const struct probes *probes);
/* Sets *CALLS and *RETURNED to the numbers of calls and returns of FUNCTION. */
void probes_read(const struct probes *probes, uint32_t function, uint64_t *calls,
                 uint64_t *returned);

#endif
