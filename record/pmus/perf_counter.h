/* Energy counters of the kernel's perf events: the PMUs `power` and `power_core`. They count once
 * for each processor of a mask, cannot sample, and are extended to 64 bits by the kernel.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_PMUS_PERF_COUNTER_H
#define RECORD_PMUS_PERF_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The processors, each of which represents a package or core. */
struct perf_cpus {
    int *list;
    size_t count, capacity;
};

/* Reads the cpumask of PMU ("0,28" or "0-3"). CPUS is empty if the PMU does not exist. */
void perf_cpus_read(struct perf_cpus *cpus, const char *pmu);

/* Opens EVENT of PMU on processor CPU. Returns its descriptor with *PER_COUNT set [J]; or -1 with
 * ERR filled, and *ABSENT set if the event does not exist. */
int perf_counter_open(const char *pmu, const char *event, int cpu, double *per_count, int *absent,
                      struct error *err);
/* Returns 1 with *COUNT set, or -1 with ERR filled. NAME is for messages. */
int perf_counter_read(int fd, const char *name, uint64_t *count, struct error *err);

#endif
