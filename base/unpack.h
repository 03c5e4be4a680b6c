/* Decompresses data while reading it from a file descriptor: bzip2, gzip, xz or zstd, recognised by content.
 * Consecutive streams count as one.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_UNPACK_H
#define BASE_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct unpack;
struct unpack_format;

enum { UNPACK_HEAD = 10 }; /* number of bytes that suffice to recognise a format */

/* The format of data that begins with the LENGTH bytes at HEAD, or NULL if it is not compressed.
 * Data truncated within its first UNPACK_HEAD bytes is also recognised. */
const struct unpack_format *unpack_recognise(const uint8_t *head, size_t length);

/* Continues to read FD (borrowed, as is NAME) after the LENGTH bytes at HEAD (at most 256 KiB) that
 * the caller has already read. */
struct unpack *unpack_new(const struct unpack_format *format, int fd, const char *name,
                          const uint8_t *head, size_t length);
void unpack_delete(struct unpack *unpack);

/* The number of compressed bytes read so far. */
uint64_t unpack_held(const struct unpack *unpack);

/* Writes up to ROOM decompressed bytes to TO. Returns their number, 0 at the end of the last stream, or -1 if the data
 * is damaged, truncated or followed by other data, needs more than 256 MiB of memory, or expands to more than 2 GiB
 * and 10000 times its size. Offsets in errors refer to the compressed file. */
int64_t unpack_read(struct unpack *unpack, uint8_t *to, size_t room, struct error *err);

#endif
