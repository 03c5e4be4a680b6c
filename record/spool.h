/* The unfinished recording on disk: what a killed sampler leaves, and what the profile is made
 * from.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_SPOOL_H
#define RECORD_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "formats/raw/raw_extension.h"
#include "record/engine.h"

enum { SPOOL_START = 32 + RAW_SIGNATURE_SIZE }; /* offset of the first block */

struct spool;

/* Makes the spool of the profile OUT: OUT.part, which must not exist, or a file without a name when
 * OUT is no regular file (pipe, device). Returns NULL with ERR filled; ERR is kept, and filled by
 * whatever fails later. */
struct spool *spool_new(const char *out, struct error *err);
/* Removes the file, except when spool_keep was called. NULL is allowed. */
void spool_delete(struct spool *spool);
/* From now on the file outlives spool_delete. Returns its name, borrowed until then, or NULL when
 * it has none. */
const char *spool_keep(struct spool *spool);

/* Each returns 0, or -1 with the error filled; after a failure all fail. Facts, maps and threads go
 * to disk at once, together with the samples before them. */
int spool_facts(struct spool *spool, const struct raw_fact *facts, size_t count);
int spool_maps(struct spool *spool, const struct raw_map *maps, size_t count);
int spool_threads(struct spool *spool, const struct raw_thread *threads, size_t count);
int spool_sample(struct spool *spool, double value, const struct engine_sample *sample);
int spool_flush(struct spool *spool);

/* Samples so far. */
uint64_t spool_samples(const struct spool *spool);
/* A name to read it by, borrowed until spool_delete; it holds all after spool_flush. */
const char *spool_path(const struct spool *spool);

#endif
