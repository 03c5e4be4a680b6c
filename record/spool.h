/* The unfinished recording on disk: what a killed sampler leaves, and what the profile is made
 * from.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_SPOOL_H
#define RECORD_SPOOL_H

#include <stdbool.h>
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

/* Where whole blocks are to be appended that go to disk with the next flush, before the samples. */
struct buffer *spool_blocks(struct spool *spool);
/* Takes in a sample. */
void spool_sample(struct spool *spool, const struct engine_sample *sample);
/* Should it be flushed, before the next sample? */
bool spool_full(const struct spool *spool);
/* Blocks and samples so far go to disk. Returns 0, or -1 with the error filled; after a failure it always fails. */
int spool_flush(struct spool *spool);
/* Is there room for the profile that would be composed now, with MORE bytes that the spool does not have, after another
 * flush? */
bool spool_has_room(const struct spool *spool, uint64_t more);

/* Samples on disk. */
uint64_t spool_samples(const struct spool *spool);
/* A name to read it by, borrowed until spool_delete; it holds all after spool_flush. */
const char *spool_path(const struct spool *spool);

#endif
