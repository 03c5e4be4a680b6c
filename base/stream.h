/* Input streams: a file or stdin, plain or compressed (recognised by content), always read through a bounded
 * window, so that every error knows file and offset and nothing is loaded as a whole.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct stream;

/* The beginning of every struct stream: what the inlined functions need. */
struct stream_window {
    const uint8_t *next; /* the visible bytes */
    size_t visible;
    uint64_t offset; /* of NEXT in the data */
};

/* Opens PATH for reading; NULL or "-" is stdin, named "<stdin>" in messages. bzip2, gzip,
 * xz and zstd are decompressed while reading. Returns NULL with ERR filled when it cannot be read or is a directory. */
struct stream *stream_open(const char *path, struct error *err);

/* As stream_open, for data that is not compressed: it is read as it is. */
struct stream *stream_open_plain(const char *path, struct error *err);

/* A second stream over the same file, from its beginning, that can seek. Returns NULL if STREAM is not a regular,
 * uncompressed file that was read from its beginning. */
struct stream *stream_again(const struct stream *stream);

/* While SPARING, reads no more than was asked for: for callers that seek from header to header. */
void stream_spare(struct stream *stream, bool sparing);

/* Closes and frees; NULL is allowed. */
void stream_close(struct stream *stream);

/* The name for messages; borrowed until stream_close. */
const char *stream_name(const struct stream *stream);

/* Records that the stream is empty where EXPECTED, such as "a pbin profile", was wanted. Returns -1. */
int stream_fail_empty(const struct stream *stream, const char *expected, struct error *err);

/* Offset of the next byte in the (decompressed) data [bytes]. */
static inline uint64_t stream_offset(const struct stream *stream)
{
    return ((const struct stream_window *)(const void *)stream)->offset;
}

/* Slow path of stream_peek. */
int64_t stream_fill(struct stream *stream, size_t want, const uint8_t **data, struct error *err);

/* Makes the next WANT bytes (at most 32 MiB) visible at *DATA without consuming them; *DATA is
 * borrowed until the next call on the stream. Returns how many bytes are visible: at least
 * WANT, or fewer when the data ends there, or -1 on a read error. */
static inline int64_t stream_peek(struct stream *stream, size_t want, const uint8_t **data,
                                  struct error *err)
{
    const struct stream_window *window = (const struct stream_window *)(const void *)stream;
    if (window->visible < want)
        return stream_fill(stream, want, data, err);
    *data = window->next;
    return (int64_t)window->visible;
}

/* Consumes COUNT bytes, at most as many as stream_peek just returned. */
static inline void stream_advance(struct stream *stream, size_t count)
{
    struct stream_window *window = (struct stream_window *)(void *)stream;
    window->next += count;
    window->visible -= count;
    window->offset += count;
}

/* Copies exactly COUNT bytes. Returns 1, 0 when the data ends before the first of them, or -1 on a
 * read error and when the data ends in between ("WHAT cut short: ..."). */
int stream_read(struct stream *stream, void *to, size_t count, const char *what, struct error *err);

/* Skips COUNT bytes, by seeking where possible. Returns 0, or -1 on an error and when the data ends
 * before that. */
int stream_skip(struct stream *stream, uint64_t count, struct error *err);

/* How many of the next bytes are a hole in a sparse file: zeros, which stream_skip can pass over. 0 if there is no
 * hole, if it is unknown, and before stream_make_seekable; -1 on an error. */
int64_t stream_hole(struct stream *stream, struct error *err);

/* For salvage: makes damaged or truncated compressed data end the data without an error. */
void stream_forgive(struct stream *stream);

/* Makes stream_seek and stream_size possible: a pipe or compressed data is copied to an unlinked
 * file in $TMPDIR (default /var/tmp). Only before the first byte is consumed.
 * Returns 0, or -1 with ERR filled. */
int stream_make_seekable(struct stream *stream, struct error *err);

/* How many bytes the file itself has given so far, compressed if it is; all of them if they are known [bytes]. What a
 * reader makes of the data must stay in proportion to it: compression packs repetitions a million times. */
uint64_t stream_held(const struct stream *stream);

/* Size of all data [bytes]; only after stream_make_seekable or stream_again. */
uint64_t stream_size(const struct stream *stream);

/* Continues at OFFSET; only after stream_make_seekable. Returns 0, or -1. */
int stream_seek(struct stream *stream, uint64_t offset, struct error *err);

#endif
