/* The threads and processes that the perf engine knows of.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_THREADS_H
#define RECORD_ENGINES_PERF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/engines/id_map.h"

enum { PERF_COMM = 16 };

struct perf_set;

struct perf_process {
    uint32_t pid, image;
    size_t threads; /* alive */
};

struct perf_thread {
    uint32_t pid, tid;
    struct perf_set *own;  /* its samplers, NULL: inherited ones sample it: */
    struct perf_set *from; /* those that it inherited, among whose HEIRS it is */
    struct perf_thread *heir_next, **heir_link;
    struct perf_thread *ended_next;
    int clock;  /* file descriptor of its clock, -1: it inherited a counter */
    bool ended; /* its end was reported, at: */
    uint64_t end;
    unsigned reads;    /* how many counters have reported its CPU time */
    uint64_t exact;    /* their sum [ns] */
    uint64_t used;     /* its CPU time by the scheduler's count, when it ended; 0: not known [ns] */
    uint64_t base;     /* CPU time before it was attached to [ns] */
    uint64_t nominal;  /* the sum of the intervals that its samples stand for [ns] */
    uint64_t last, pc; /* of its last sample, 0: none */
    char comm[PERF_COMM];
};

struct perf_threads {
    struct id_map threads, processes; /* of struct perf_thread and perf_process */
};

/* Frees everything in it; the file descriptors are closed, sets are not touched. */
void perf_threads_free(struct perf_threads *all);

struct perf_thread *perf_thread_find(const struct perf_threads *all, uint32_t tid);
/* A new one, in the process PID, which is there. */
struct perf_thread *perf_thread_add(struct perf_threads *all, uint32_t pid, uint32_t tid,
                                    const char *comm);
/* It has ended, but stays known. Returns whether it was the last one of its process that lived. */
bool perf_thread_end(struct perf_threads *all, struct perf_thread *thread);
/* Takes it out of the table; caller calls perf_thread_free. */
void perf_thread_remove(struct perf_threads *all, struct perf_thread *thread);
/* Closes its clock as well. */
void perf_thread_free(struct perf_thread *thread);
void perf_thread_name(struct perf_thread *thread, const char *comm);

struct perf_process *perf_process_find(const struct perf_threads *all, uint32_t pid);
struct perf_process *perf_process_add(struct perf_threads *all, uint32_t pid, uint32_t image);
void perf_process_remove(struct perf_threads *all, struct perf_process *process);

#endif
