/* Names of threads: as an engine reports them, or looked up now and then and at their end.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "formats/raw/raw_extension.h"

enum { NAMES_MANY = 1024 }; /* news that should be put soon */

/* A thread whose name is looked up. */
struct named_thread {
    struct named_thread *chain; /* same bucket */
    uint32_t pid, tid;
    uint64_t start; /* [ns of the run] */
    char *name;     /* NULL: not looked up yet */
};

enum { NAMES_BUCKETS = 1024 };

/* Zeroed it is empty. Memory is that of the threads alive, and of the news. */
struct names {
    struct named_thread *threads[NAMES_BUCKETS];
    struct raw_task *news; /* for the spool */
    size_t news_count, news_capacity;
};

void names_free(struct names *names);

/* A thread is there since START, or called NAME since then; NAME NULL: to be looked up. */
void names_add(struct names *names, uint32_t pid, uint32_t tid, uint64_t start, const char *name);
/* Looks up the names of all threads that were added without one, at TIME. */
void names_look(struct names *names, uint64_t time);
/* The thread is about to end: the last look. */
void names_end(struct names *names, uint32_t pid, uint32_t tid, uint64_t time);
/* Appends the news to BUFFER, as `task` blocks. */
void names_put(struct names *names, struct buffer *buffer);

#endif
