/* Follows the processes and threads of a recording of perf, record by record.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PERF2PBIN_PERF_PROCESSES_H
#define CONVERT_PERF2PBIN_PERF_PROCESSES_H

#include "base/intern.h"
#include "formats/perf/perf.h"
#include "formats/raw/raw_extension.h"

/* A thread in an image, while it has one name. An image is a process until it runs another
 * program. */
struct perf_task {
    uint32_t image, tid;
    uint32_t name; /* number in the texts of the extension */
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

/* Zero a struct perf_processes and set START to begin. perf_processes_free frees it. */
void perf_processes_free(struct perf_processes *processes);

/* Starts again: the same records will follow, beginning with the first one. */
void perf_processes_again(struct perf_processes *processes);

/* Processes a record other than a sample; records must be in order of time. */
void perf_processes_follow(struct perf_processes *processes, const struct perf_record *record);

/* Returns the number of the task of RECORD, a sample. */
uint32_t perf_processes_task(struct perf_processes *processes, const struct perf_record *record);

#endif
