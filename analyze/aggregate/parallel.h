/* Reads parts of one full profile with several threads in parallel.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_PARALLEL_H
#define ANALYZE_AGGREGATE_PARALLEL_H

#include "analyze/attribute/attribute.h"

struct parallel;

/* Attributes the remaining samples of READER with up to THREADS threads, including the caller:
 * READER is limited to the first part, which the caller reads into ATTRIBUTION, and other threads
 * read the other parts. All arguments are borrowed until parallel_join. Returns NULL, with READER
 * unchanged, if this is not possible (pipes, compressed files, selections that depend on earlier
 * samples) or would not save time. */
struct parallel *parallel_start(struct pbin_reader *reader, struct attribution *attribution,
                                const struct attribution_options *options, size_t threads);

/* Waits for the other threads, adds their results to the ATTRIBUTION of parallel_start, and frees
 * PARTS. RESULT is that of the first part, with ERR filled if it is -1. Returns 0, or -1 with ERR
 * filled; of several errors, it is the first one in the file. */
int parallel_join(struct parallel *parts, int result, struct error *err);

#endif
