/* Opens events of perf_event_open for the perf engine.
 *
 * Three kinds of events are attached to a thread:
 *   counter   one per CPU, inherited by the threads and processes that the thread creates. It
 *             counts CPU time, owns the ring of that CPU, and reports mappings, names, forks and
 *             ends. When a thread that inherited it ends, it reports the CPU time of that thread
 *             (PERF_RECORD_READ).
 *   clock     only for a thread that inherited no counter: counts its own CPU time.
 *   sampler   one per CPU, inherited: takes the samples, which go into the ring of the CPU.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_OPEN_H
#define RECORD_ENGINES_PERF_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/engine.h"

/* The permissions that the kernel grants, and the properties of the events. */
struct perf_setup {
    int *cpus; /* numbers of the CPUs that are online */
    size_t cpu_count;
    bool kernel;   /* samples in the kernel are permitted */
    bool narrow;   /* events are inherited by threads, but not by child processes: --no-follow */
    uint32_t type; /* of the sampling event */
    uint64_t config;
    double per_ns; /* number of counts per ns of CPU time */
    /* samples per wake-up; 0 (as set by perf_setup): wake up only at the watermark */
    uint32_t wakeup;
};

/* Probes the kernel. Returns 0, and the caller calls perf_setup_free; or -1 with ERR filled. */
int perf_setup(struct perf_setup *setup, const struct engine_options *options, struct error *err);
void perf_setup_free(struct perf_setup *setup);

/* These functions open one event and return its file descriptor, or -1 with errno set. Events of
 * thread TID: a counter on CPU; a clock; a mark; a sampler on CPU. ON_EXEC: the event starts with
 * the next exec; otherwise, at once. */
int perf_open_counter(const struct perf_setup *setup, pid_t tid, int cpu, bool on_exec,
                      uint32_t watermark);
int perf_open_clock(pid_t tid);
/* An event that counts nothing. At a context switch between two threads, the kernel exchanges their
 * events if one thread has inherited all events of the other; a thread that ends may then close the
 * events of the other. An event that is not inherited prevents this. */
int perf_open_mark(pid_t tid);
/* PERIOD is in ns of CPU time. */
int perf_open_sampler(const struct perf_setup *setup, pid_t tid, int cpu, bool on_exec,
                      uint64_t period);
/* A sampler of all code that runs on CPU, except the idle loop; initially off. PERIOD is in ns.
 * Needs privileges. */
int perf_open_wide(const struct perf_setup *setup, int cpu, uint64_t period);
/* An event of this process that is like a sampler of PERIOD ns (0: like a counter), but off and without a ring. */
int perf_open_probe(const struct perf_setup *setup, uint64_t period);
/* Changes the period of sampler FD [ns], also for threads that inherit it later, and starts a new period. */
void perf_set_period(const struct perf_setup *setup, int fd, uint64_t period);

#endif
