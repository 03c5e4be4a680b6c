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
    uint64_t changed;      /* start of its image, or time of its latest mapping [ns of the run] */
    size_t threads;        /* number of live threads */
    bool whole;            /* all of its threads are observed; in this case, ... */
    uint64_t base, cpu;    /* ... its CPU time when it was attached to, and as last read [ns] */
    uint64_t user, system; /* CPU time by its ticks, as last reported [ns] */
    bool looked_at;        /* its ticks have been read */
};

struct perf_thread {
    uint32_t pid, tid;
    struct perf_set *own;  /* its samplers; NULL: it is sampled by inherited ones */
    struct perf_set *from; /* the set whose samplers it inherited */
    struct perf_thread *heir_next, **heir_link;
    struct perf_thread *ended_next;
    int clock;      /* file descriptor of its clock; -1: it inherited a counter */
    bool missed;    /* it was found to exist no longer */
    bool ended;     /* its end was reported ... */
    uint64_t end;   /* ... at this time */
    unsigned reads; /* number of counters that have reported its CPU time */
    uint64_t exact; /* the sum of what these reported [ns] */
    uint64_t used;  /* its CPU time at its end, from the scheduler; 0: unknown [ns] */
    /* it is a leader that ended before other threads of its process: another thread may have its ID
     * now */
    bool outlived;
    bool final;             /* its CPU time was read at the end of the run */
    uint64_t base;          /* CPU time before it was attached to, or became the leader [ns] */
    uint64_t before;        /* CPU time that its counters had reported then [ns] */
    struct process_run run; /* counts of the scheduler when its switches were last counted ... */
    uint64_t looked;        /* ... at this time [CLOCK_MONOTONIC] */
    uint64_t turns;         /* on a CPU before it was attached to */
    uint64_t nominal;       /* the sum of the intervals of its samples [ns] */
    double spans;           /* CPU time that all its samples represent, by their intervals [ns] */
    double span;            /* the same of its sightings in a window [ns] ... */
    size_t sightings;       /* ... and the number of these sightings */
    double part;            /* of the CPU time of a window, for each of them */
    double owed;            /* CPU time by which earlier windows gave it too little [ns] */
    uint64_t born, check;   /* when it was created, and when to check that it is sampled */
    uint64_t known;         /* when its creation was delivered [CLOCK_MONOTONIC] */
    uint64_t renamed;       /* when it got its name [ns of the run] */
    uint64_t last, pc;      /* of its last sample; 0: none */
    /* of the samples before its own samplers were armed, which are from inherited or from its
     * previous ones; as in struct perf_period [ns] */
    uint64_t former, interval;
    uint64_t seen;    /* time of the last sample from inherited samplers; 0: none ... */
    size_t seen_on;   /* ... its CPU ... */
    unsigned firings; /* ... and how many there were */
    /* CPU time of these samples since one counted, and at which the next one counts [ns] */
    uint64_t since, due;
    char comm[PERF_COMM];
};

struct perf_threads {
    struct id_map threads, processes; /* of struct perf_thread and perf_process */
};

/* Frees everything in ALL and closes the file descriptors, but not the sets. */
void perf_threads_free(struct perf_threads *all);

/* Returns the thread TID in the table, borrowed; NULL: none. */
struct perf_thread *perf_thread_find(const struct perf_threads *all, uint32_t tid);
/* Adds a thread to the process PID, which must exist. Returns it, borrowed. */
struct perf_thread *perf_thread_add(struct perf_threads *all, uint32_t pid, uint32_t tid,
                                    const char *comm);
/* Marks a thread as ended, but keeps it. Returns whether it was the last live thread of its
 * process. */
bool perf_thread_end(struct perf_threads *all, struct perf_thread *thread);
/* Removes a thread from the table; the caller calls perf_thread_free. */
void perf_thread_remove(struct perf_threads *all, struct perf_thread *thread);
/* Returns the CPU time that the thread's own clock has counted [ns]; 0 if it has no clock. */
uint64_t perf_thread_counted(const struct perf_thread *thread);
/* Also closes its clock. */
void perf_thread_free(struct perf_thread *thread);
void perf_thread_name(struct perf_thread *thread, const char *comm);

/* Returns the process PID, borrowed; NULL: none. */
struct perf_process *perf_process_find(const struct perf_threads *all, uint32_t pid);
/* Adds process PID, whose IMAGE begins at TIME [ns of the run]. Returns it, borrowed. */
struct perf_process *perf_process_add(struct perf_threads *all, uint32_t pid, uint32_t image,
                                      uint64_t time);
void perf_process_remove(struct perf_threads *all, struct perf_process *process);

#endif
