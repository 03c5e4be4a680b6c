/* Opening events of perf_event_open for the perf engine.
 *
 * Three kinds of events are attached to a thread:
 *   counter   one per CPU, inherited by all that the thread makes. It counts CPU time without samples, owns the ring
 *             of that CPU, and reports mappings, names, forks and ends. When a thread that inherited it ends, it reports
 *             the CPU time of that thread (PERF_RECORD_READ).
 *   clock     of a thread that inherited no counter: its own CPU time.
 *   sampler   one per CPU, inherited: the samples, which go into the ring of the CPU.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_OPEN_H
#define RECORD_ENGINES_PERF_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/engine.h"

/* What the kernel permits, and what the events are like. */
struct perf_setup {
    int *cpus; /* numbers of those online */
    size_t cpu_count;
    bool kernel;   /* samples in the kernel are permitted */
    bool narrow;   /* children of a process do not inherit, only threads: --no-follow */
    uint32_t type; /* of the sampling event */
    uint64_t config;
    double per_ns; /* what it counts in 1 ns of CPU time */
};

/* Finds out. Returns 0, caller calls perf_setup_free; or -1 with ERR filled. */
int perf_setup(struct perf_setup *setup, const struct engine_options *options, struct error *err);
void perf_setup_free(struct perf_setup *setup);

/* Each opens one event of thread TID, the first and the last on CPU; returns its file descriptor, or -1 with errno
 * set. ON_EXEC: it starts with the next exec, otherwise at once. */
int perf_open_counter(const struct perf_setup *setup, pid_t tid, int cpu, bool on_exec,
                      uint32_t watermark);
int perf_open_clock(pid_t tid);
/* Counts nothing. The kernel exchanges the events of two threads at a switch between them if one has inherited all that
 * the other has, and a thread that ends may then take the file descriptors of the other with it. Who has this, has
 * something that nobody inherits. */
int perf_open_mark(pid_t tid);
/* PERIOD in ns. */
int perf_open_sampler(const struct perf_setup *setup, pid_t tid, int cpu, bool on_exec,
                      uint64_t period);
/* Changes the period of sampler FD [ns], of what it will be inherited with, and begins a new one. */
void perf_set_period(const struct perf_setup *setup, int fd, uint64_t period);

#endif
