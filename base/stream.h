/* Input streams: a file or stdin, plain or compressed (recognised by content), always read through
 * a bounded window, so that every error can name file and offset, and no file is loaded completely.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct stream;

/* The beginning of every struct stream, for the inlined functions. */
struct stream_window {
    const uint8_t *next; /* the visible bytes */
    size_t visible;
    uint64_t offset; /* of NEXT in the data */
};

/* Opens PATH for reading; NULL or "-" is stdin, named "<stdin>" in messages. bzip2, gzip, xz and zstd are decompressed
 * while reading. Returns NULL with ERR filled if it cannot be read or is a directory. */
struct stream *stream_open(const char *path, struct error *err);

/* Like stream_open, but does not decompress. */
struct stream *stream_open_plain(const char *path, struct error *err);

/* Opens a second, seekable stream on the same file, from its beginning. Returns NULL if STREAM is
 * not a regular, uncompressed file that was read from its beginning. */
struct stream *stream_again(const struct stream *stream);

/* While SPARING is set, reads no more than requested, for callers that seek from header to header. */
void stream_spare(struct stream *stream, bool sparing);

/* Closes and frees; NULL is allowed. */
void stream_close(struct stream *stream);

/* The name for messages; borrowed until stream_close. */
const char *stream_name(const struct stream *stream);

/* Records the error that the stream is empty, where EXPECTED, such as "a pbin profile", should be.
 * Returns -1. */
int stream_fail_empty(const struct stream *stream, const char *expected, struct error *err);

/* Offset of the next byte in the (decompressed) data [bytes]. */
static inline uint64_t stream_offset(const struct stream *stream)
{
    return ((const struct stream_window *)(const void *)stream)->offset;
}

/* Slow path of stream_peek. */
int64_t stream_fill(struct stream *stream, size_t want, const uint8_t **data, struct error *err);

/* Makes the next WANT bytes (at most 32 MiB) visible at *DATA without consuming them; *DATA is borrowed until the next
 * call on the stream. Returns the number of visible bytes: at least WANT, or fewer if the data ends there; or -1 on a
 * read error. */
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

/* Copies exactly COUNT bytes to TO. Returns 1; 0 if the data ends before the first of them; or -1
 * on a read error or if the data ends after some of them ("WHAT cut short: ..."). */
int stream_read(struct stream *stream, void *to, size_t count, const char *what, struct error *err);

/* Skips COUNT bytes, by seeking if possible. Returns 0, or -1 on an error or if the data ends before that. */
int stream_skip(struct stream *stream, uint64_t count, struct error *err);

/* The size of the hole in a sparse file that begins at the next byte: zeros, which stream_skip can
 * skip. 0 if there is no hole, if that is unknown, or before stream_make_seekable; -1 on an
 * error. */
int64_t stream_hole(struct stream *stream, struct error *err);

/* For salvage: treats damaged or truncated compressed data as the end of the data, without an error
 * if there was data before it. */
void stream_forgive(struct stream *stream);

/* The error that was treated as the end, borrowed until stream_close; NULL if there was none. */
const struct error *stream_damage(const struct stream *stream);

/* Makes stream_seek and stream_size possible: a pipe or compressed data is copied to an unlinked
 * file in $TMPDIR (default /var/tmp). Only before the first byte is consumed.
 * Returns 0, or -1 with ERR filled. */
int stream_make_seekable(struct stream *stream, struct error *err);

/* The size of the file before decompression or, if that is unknown, of the part read so far
 * [bytes]. Readers must limit their memory in proportion to it, because repetitions can be
 * compressed a million times. */
uint64_t stream_held(const struct stream *stream);

/* Size of all data [bytes]; only after stream_make_seekable or stream_again. */
uint64_t stream_size(const struct stream *stream);

/* Continues at OFFSET; only after stream_make_seekable. Returns 0, or -1 on an error. */
int stream_seek(struct stream *stream, uint64_t offset, struct error *err);

#endif
