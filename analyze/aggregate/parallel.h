/* Parts of one full profile, read by several threads at once.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_PARALLEL_H
#define ANALYZE_AGGREGATE_PARALLEL_H

#include "analyze/attribute/attribute.h"

struct parallel;

/* Lets up to THREADS threads, the caller among them, attribute the samples that READER stands before: READER is limited
 * to the first part, which the caller reads into FIRST, and the others are read behind its back. Both and OPTIONS
 * are borrowed until parallel_join. Returns NULL, and READER reads all, where that is not possible (pipes, compressed
 * files, choices that depend on the samples before) or not worth it. */
struct parallel *parallel_start(struct pbin_reader *reader, struct attribution *attribution,
                                const struct attribution_options *options, size_t threads);

/* Waits for the others, adds what they have to FIRST, and frees. RESULT is that of the first part, with ERR
 * filled where it is -1. Returns 0, or -1 with ERR filled: of several errors the first of the file. */
int parallel_join(struct parallel *parts, int result, struct error *err);

#endif
