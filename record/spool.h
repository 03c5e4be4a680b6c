/* The unfinished recording on disk: the profile is composed from it, and it remains if the sampler is killed.
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

/* Creates the spool of the profile OUT: OUT.part, which must not exist, or an unnamed file if OUT is not a regular
 * file (pipe, device). Returns NULL with ERR filled; ERR is borrowed until spool_delete, and filled by later
 * failures. */
struct spool *spool_new(const char *out, struct error *err);
/* Removes the file, unless spool_keep was called. NULL is allowed. If the program exits before this
 * call, for example because it runs out of memory, a file with samples is kept, and its name is
 * printed on stderr. */
void spool_delete(struct spool *spool);
/* Makes spool_delete keep the file. Returns its name, borrowed until spool_delete, or NULL if it has none. */
const char *spool_keep(struct spool *spool);
/* Prints that the samples are in PART, and which tool reads them. */
void spool_report(const char *part);

/* Returns the buffer for whole blocks that the next flush will write before the samples. */
struct buffer *spool_blocks(struct spool *spool);
/* Adds a sample. */
void spool_sample(struct spool *spool, const struct engine_sample *sample);
/* Returns whether the spool should be flushed before the next sample. */
bool spool_full(const struct spool *spool);
/* Writes blocks and samples to disk. Returns 0, or -1 with the error filled; after a failure, it
 * always fails. */
int spool_flush(struct spool *spool);
/* Returns why the disk has no room for another flush and the profile that would then be composed,
 * with MORE bytes that are not in the spool; NULL: there is room. */
const char *spool_shortage(const struct spool *spool, uint64_t more);

/* Returns the number of samples on disk. */
uint64_t spool_samples(const struct spool *spool);
/* Returns a path for reading the spool, borrowed until spool_delete; complete after spool_flush. */
const char *spool_path(const struct spool *spool);

#endif
