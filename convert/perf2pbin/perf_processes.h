/* The processes and threads of a recording of perf, as its records describe them one after another.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PERF2PBIN_PERF_PROCESSES_H
#define CONVERT_PERF2PBIN_PERF_PROCESSES_H

#include "base/intern.h"
#include "formats/perf/perf.h"
#include "formats/raw/raw_extension.h"

/* A thread in an image, that is, in a process until it runs another program, while it has one name. */
struct perf_task {
    uint32_t image, tid;
    uint32_t name; /* in the texts of the extension */
};

struct perf_processes {
    /* images and mappings; their times count from START */
    struct raw_extension ext;
    bool is_known; /* the recording was followed before: only names change */
    uint64_t start;
    struct numbers pids; /* processes ... */
    uint32_t *image_of;  /* ... and the present image of each */
    size_t image_capacity;
    uint32_t started;       /* images so far */
    struct numbers threads; /* image << 32 | tid ... */
    uint32_t *name_of;      /* ... and the present name of each */
    size_t name_capacity;
    struct numbers tasks; /* thread << 32 | name ... */
    struct perf_task *task;
    size_t task_capacity;
};

/* Zeroed, and with START set, it is ready. */
void perf_processes_free(struct perf_processes *processes);

/* The same records are to follow again, from the first. */
void perf_processes_again(struct perf_processes *processes);

/* Takes a record other than a sample; records are in order of time. */
void perf_processes_follow(struct perf_processes *processes, const struct perf_record *record);

/* The task of a sample. */
uint32_t perf_processes_task(struct perf_processes *processes, const struct perf_record *record);

#endif
