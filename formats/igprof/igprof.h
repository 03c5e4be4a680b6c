/* Dumps of IgProf: call trees with counters, as text. Specified in igprof.5.
 *
 *   reader = igprof_open(stream, &err)
 *   while (igprof_next(reader, &node, &err) > 0) ...      nodes in pre-order
 *   igprof_close(reader)
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_IGPROF_IGPROF_H
#define FORMATS_IGPROF_IGPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/output.h"
#include "base/stream.h"

enum { IGPROF_MAX_COUNTERS = 32, IGPROF_MAX_DEPTH = 1 << 16, IGPROF_MAX_NAME = 1 << 16 };

/* A function. Dumps define one for each address in it; those with the same name and file are combined. */
struct igprof_function {
    uint32_t name, path; /* texts; PATH is that of its file */
    uint64_t offset;     /* in the file, of its first address; two's complement if negative */
};

/* A counter in a node: the number of counts, their sum, and the largest value. */
struct igprof_value {
    uint32_t counter; /* number of its name, see igprof_counter */
    uint64_t ticks, value, peak;
};

struct igprof_node {
    size_t depth;      /* 1: no caller; at most 1 more than the depth of the previous node */
    uint32_t function; /* number, see igprof_function */
    size_t value_count;
    const struct igprof_value *values; /* borrowed until igprof_next; each counter at most once */
};

struct igprof;

/* Reads the first line. STREAM is borrowed until igprof_close. Returns NULL with ERR filled. */
struct igprof *igprof_open(struct stream *stream, struct error *err);
void igprof_close(struct igprof *igprof);

/* Returns 1 with NODE filled, 0 at the end, or -1. */
int igprof_next(struct igprof *igprof, struct igprof_node *node, struct error *err);

/* Borrowed until igprof_next or igprof_close. */
const char *igprof_program(const struct igprof *igprof);
double igprof_tick(const struct igprof *igprof); /* length of a tick of PERF_TICKS [s] */
const struct strings *igprof_texts(const struct igprof *igprof);
const struct igprof_function *igprof_functions(const struct igprof *igprof, size_t *count);
const char *igprof_counter(const struct igprof *igprof, uint32_t number);
/* Returns whether the value of the counter is the maximum instead of the sum. */
bool igprof_counter_is_largest(const struct igprof *igprof, uint32_t number);
size_t igprof_counter_count(const struct igprof *igprof);

/* ---- writing functions without callers ---- */

/* Assigns numbers to definitions. To begin, set OUT, where errors are recorded, and zero the rest. */
struct igprof_writer {
    struct output *out;
    struct strings *files, *counters;
    uint32_t functions;
};

/* Writes the first line: the program, its process, and the time of a tick of PERF_TICKS [s]. */
void igprof_put_head(struct igprof_writer *writer, const char *program, uint64_t pid, double tick);

/* Write a function, SYMBOL at OFFSET in the file PATH, then its values, then its end. Characters
 * that names cannot contain become "_". */
void igprof_put_function(struct igprof_writer *writer, const char *path, uint64_t offset,
                         const char *symbol);
void igprof_put_value(struct igprof_writer *writer, const char *counter, uint64_t ticks,
                      uint64_t value, uint64_t peak);
void igprof_end_function(struct igprof_writer *writer);
void igprof_writer_free(struct igprof_writer *writer);

#endif
