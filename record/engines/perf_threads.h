/* The threads and processes known to the perf engine.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_THREADS_H
#define RECORD_ENGINES_PERF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/engines/id_map.h"
#include "record/process.h"

enum { PERF_COMM = 16 };

struct perf_set;

struct perf_process {
    uint32_t pid, image;
    uint64_t changed; /* beginning of its image, or time of its last mapping [ns of the run] */
    size_t threads;   /* alive */
    bool whole;       /* all of its threads are observed; then ... */
    uint64_t base,
        cpu; /* ... its CPU time when it was attached to, and when it was last read [ns] */
};

struct perf_thread {
    uint32_t pid, tid;
    struct perf_set *own;  /* its samplers; NULL: sampled by inherited ones */
    struct perf_set *from; /* the set that it inherited */
    struct perf_thread *heir_next, **heir_link;
    struct perf_thread *ended_next;
    int clock;      /* file descriptor of its clock, -1: it inherited a counter */
    bool missed;    /* it no longer exists */
    bool ended;     /* its end was reported ... */
    uint64_t end;   /* ... at this time */
    unsigned reads; /* number of counters that have reported its CPU time */
    uint64_t exact; /* their sum [ns] */
    uint64_t used;  /* its CPU time at its end, from the scheduler; 0: unknown [ns] */
    /* a leader that other threads of its process outlived: another may have its ID now */
    bool outlived;
    bool final;                /* its CPU time was read at the end of the run */
    uint64_t base;             /* CPU time before it was attached to, or was the leader [ns] */
    uint64_t before;           /* what its counters had then [ns] */
    struct process_run run;    /* when its switches were last counted */
    uint64_t nominal;          /* the sum of the intervals of its samples [ns] */
    double span;               /* the CPU time that its sightings in a window represent [ns] ... */
    size_t sightings;          /* ... and how many these are */
    uint64_t born, check;      /* when it was created, and when to check that it is sampled */
    uint64_t known;            /* when its creation was delivered [CLOCK_MONOTONIC] */
    uint64_t renamed;          /* when it got its name [ns of the run] */
    uint64_t last, pc;         /* of its last sample, 0: none */
    uint64_t former, interval; /* of samples before its samplers were armed: inherited, or the last;
                                  as in struct perf_period [ns] */
    uint64_t seen;             /* time of the last sample that it inherited, 0: none ... */
    size_t seen_on;            /* ... and its CPU */
    uint64_t since,
        due; /* the CPU time of these since one counted, and when the next one does [ns] */
    char comm[PERF_COMM];
};

struct perf_threads {
    struct id_map threads, processes; /* of struct perf_thread and perf_process */
};

/* Frees everything in it and closes the file descriptors, but not the sets. */
void perf_threads_free(struct perf_threads *all);

/* The thread TID that is in the table; NULL: none. */
struct perf_thread *perf_thread_find(const struct perf_threads *all, uint32_t tid);
/* Adds a thread to the process PID, which must exist. */
struct perf_thread *perf_thread_add(struct perf_threads *all, uint32_t pid, uint32_t tid,
                                    const char *comm);
/* Marks it as ended, but keeps it. Returns whether it was the last live thread of its process. */
bool perf_thread_end(struct perf_threads *all, struct perf_thread *thread);
/* Removes it from the table; caller calls perf_thread_free. */
void perf_thread_remove(struct perf_threads *all, struct perf_thread *thread);
/* What its own clock has counted [ns]; 0 if it has none. */
uint64_t perf_thread_counted(const struct perf_thread *thread);
/* Closes its clock as well. */
void perf_thread_free(struct perf_thread *thread);
void perf_thread_name(struct perf_thread *thread, const char *comm);

/* The process PID; NULL: none. */
struct perf_process *perf_process_find(const struct perf_threads *all, uint32_t pid);
/* Adds process PID, whose IMAGE begins at TIME of the run. */
struct perf_process *perf_process_add(struct perf_threads *all, uint32_t pid, uint32_t image,
                                      uint64_t time);
void perf_process_remove(struct perf_threads *all, struct perf_process *process);

#endif
