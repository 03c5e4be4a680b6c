/* Typed, length-prefixed, checksummed blocks: the framing of pbin and of the raw extension.
 *
 *   0        u32 length of the payload (at most 16 MiB)
 *   4        type: four ASCII letters; if the first is lower case, a reader may skip the block
 *   8        payload
 *   8+length u64 XXH3 (64 bits, seed 0) of everything before it in the block
 *
 * Everything is little-endian.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_BLOCK_H
#define FORMATS_PBIN_BLOCK_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/output.h"
#include "base/stream.h"

enum { BLOCK_MAX_PAYLOAD = 16 * 1024 * 1024, BLOCK_OVERHEAD = 16 };

/* Begins a block of TYPE (four letters) at the end of BUFFER; returns its position for block_end,
 * which fills in length and checksum. Append the payload in between, with buffer_*(). */
size_t block_begin(struct buffer *buffer, const char *type);
void block_end(struct buffer *buffer, size_t begin);

/* A block that was read; its payload is borrowed until the next call on the stream. */
struct block {
    char type[5];     /* NUL-terminated */
    uint64_t offset;  /* of the block in the stream, for errors */
    struct cursor in; /* over the payload */
};

/* Reads and checks the next block. Returns 1, 0 if the stream ends before it, or -1 if it is truncated, larger than
 * BLOCK_MAX_PAYLOAD, or its checksum does not match. */
int block_next(struct stream *stream, struct block *block, struct error *err);

/* For salvage, after block_next has failed: if the stream ends inside a block, sets BLOCK to the
 * part of its payload that is there, without checking it, and consumes it. Returns 1; 0 if
 * block_next failed for another reason; or -1 if reading fails. */
int block_part(struct stream *stream, struct block *block, struct error *err);

/* Returns whether a reader that does not support BLOCK may skip it. */
static inline bool block_is_optional(const struct block *block)
{
    return block->type[0] >= 'a' && block->type[0] <= 'z';
}

#endif
