/* The input profiles of a tool: arguments, a list in a file, or stdin. They are read one after the other, or in
 * parallel by several threads.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_INPUTS_H
#define ANALYZE_AGGREGATE_INPUTS_H

#include "analyze/aggregate/aggregate.h"
#include "base/report.h"

struct inputs {
    char **paths; /* owned */
    size_t count, capacity;
    const char *list;          /* --files-from: a file with a list of paths ("-": stdin), or NULL */
    bool nul;                  /* the paths in LIST end with NUL instead of newline */
    struct pbin_choice choice; /* choice for reading each profile */
    unsigned jobs;             /* threads; 0: one for each CPU */
};

/* Appends a copy of PATH. */
void inputs_add(struct inputs *inputs, const char *path);
void inputs_free(struct inputs *inputs);

/* Adds the paths in LIST. If there are neither arguments nor a list, the only profile is stdin.
 * Returns 0, or -1 with ERR filled. */
int inputs_complete(struct inputs *inputs, struct error *err);

/* Reads all profiles into AGGREGATE and finishes it. The result does not depend on the number of threads; each thread
 * has at most one file open. Returns 0, or -1 with ERR filled. */
int inputs_aggregate(const struct inputs *inputs, struct aggregate *aggregate,
                     struct reporter *reporter, struct error *err);

/* Reads the one profile PATH (NULL: stdin) into AGGREGATE, with up to THREADS threads. Returns 0, or -1 with ERR
 * filled. */
int inputs_read_one(const char *path, struct pbin_choice choice, size_t threads,
                    struct aggregate *aggregate, struct reporter *reporter, struct error *err);

#endif
