/* Names of threads: reported by an engine, or looked up from time to time and at the end of each
 * thread.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "formats/raw/raw_extension.h"

enum { NAMES_MANY = 1024 }; /* number of new names after which they should be written */

/* A thread whose name is looked up. */
struct named_thread {
    struct named_thread *chain; /* same bucket */
    uint32_t pid, tid;
    uint64_t start; /* [ns of the run] */
    char *name;     /* NULL: not looked up yet */
};

enum { NAMES_BUCKETS = 1024 };

/* All zero: empty. Uses memory only for live threads and for new names. */
struct names {
    struct named_thread *threads[NAMES_BUCKETS];
    struct raw_task *news; /* new names, for the spool */
    size_t news_count, news_capacity;
};

void names_free(struct names *names);

/* Records that a thread has existed, or has had NAME, since START [ns of the run]. If NAME is NULL,
 * it is looked up. */
void names_add(struct names *names, uint32_t pid, uint32_t tid, uint64_t start, const char *name);
/* Looks up the names of all threads that were added without a name, at TIME [ns of the run]. */
void names_look(struct names *names, uint64_t time);
/* Looks up the name of a thread for the last time, at TIME [ns of the run]: the thread is about to
 * end. */
void names_end(struct names *names, uint32_t pid, uint32_t tid, uint64_t time);
/* Appends the new names to BUFFER, as `task` blocks. */
void names_put(struct names *names, struct buffer *buffer);

#endif
