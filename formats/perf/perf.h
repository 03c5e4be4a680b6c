/* Recordings of perf record (perf.data), from a file or a pipe, in either byte order.
 *
 *   perf = perf_open(stream, salvage, err);
 *   while ((got = perf_next(perf, &record, err)) > 0) ...      in order of time
 *   perf_rewind(perf) begins again; perf_close(perf)
 *
 * The kernel writes records for each CPU separately. They are sorted by time over the rounds in
 * which perf collected them, which requires memory for the records of two rounds.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PERF_PERF_H
#define FORMATS_PERF_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stream.h"

enum perf_kind {
    PERF_SAMPLE,
    PERF_MAPPING, /* of executable memory */
    PERF_NAME,    /* name of a thread; with IS_EXEC, its process began to run another program */
    PERF_FORK,    /* a process, or a thread of the same process, began */
    PERF_LOST     /* COUNT records or samples were lost */
};

/* Threads have the numbers of the kernel. Texts are borrowed until perf_close; equal texts have
 * equal pointers. */
struct perf_record {
    enum perf_kind kind;
    uint64_t time; /* [ns] of the clock of perf; 0: before the recording began */
    uint32_t pid, tid;
    uint64_t offset; /* in the file */
    union {
        struct {
            uint64_t pc, period;
            uint64_t caller; /* PC of the user code that called the kernel; 0: not recorded */
            uint32_t event;  /* number of its event */
            bool in_kernel, in_guest;
        } sample;
        struct {
            uint64_t address, size, offset, inode; /* inode 0: unknown */
            const char *path, *build_id;           /* lower-case hexadecimal, "": unknown */
        } mapping;
        struct {
            const char *text;
            bool is_exec;
        } name;
        struct {
            uint32_t parent, creator; /* process and thread */
        } fork;
        uint64_t lost;
    } u;
};

struct perf_event {
    const char *name; /* as perf calls it */
    bool counts_ns;   /* its periods are CPU time, or time on the clock of a CPU [ns] */
    bool counts_cpu;  /* with COUNTS_NS: idle time of CPUs counts */
    /* it counts cycles of a CPU, so that a sample at a fixed frequency represents time */
    bool counts_cycles;
    bool is_dummy;   /* never samples */
    bool has_period; /* it has its own samples, not only those of the first event of its group */
    /* requested samples per second; 0: a sample for each fixed number of events */
    uint64_t frequency;
};

/* Texts may be NULL: unknown. */
struct perf_facts {
    const char *command, *host;
    uint64_t cpus; /* of the machine, 0: unknown */
};

struct perf;

/* Reads the header. STREAM becomes seekable (a pipe is copied to a temporary file) and is borrowed
 * until perf_close. SALVAGE: keep the complete records of an unfinished recording. Returns NULL
 * with ERR filled. */
struct perf *perf_open(struct stream *stream, bool salvage, struct error *err);
void perf_close(struct perf *perf);

/* Returns 1 with RECORD filled, 0 at the end, or -1. */
int perf_next(struct perf *perf, struct perf_record *record, struct error *err);

/* Makes the next perf_next return the first record again. Returns 0 or -1. */
int perf_rewind(struct perf *perf, struct error *err);

/* The events; those of a pipe are known once their records have been read. Borrowed until the next
 * call of perf_next. */
const struct perf_event *perf_events(const struct perf *perf, size_t *count);
struct perf_facts perf_facts(const struct perf *perf);

/* Returns whether the end was missing (and the recording was salvaged). */
bool perf_is_cut(const struct perf *perf);

#endif
