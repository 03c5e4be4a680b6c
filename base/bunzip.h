/* bzip2 decompressed while it is read from a file descriptor; several streams in a row are one.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_BUNZIP_H
#define BASE_BUNZIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bunzip;

/* Continues to read FD (borrowed, as is NAME) after the LENGTH bytes at HEAD (at most 256 KiB) that
 * the caller has already read. */
struct bunzip *bunzip_new(int fd, const char *name, const uint8_t *head, size_t length);
void bunzip_delete(struct bunzip *bunzip);

/* How many compressed bytes have been read so far. */
uint64_t bunzip_held(const struct bunzip *bunzip);

/* Writes up to ROOM decompressed bytes to TO. Returns their number, 0 at the end of the last stream,
 * or -1: damaged, cut short, followed by something other than bzip2, or unpacked to
 * more than 2 GiB and 10000 times its size. Offsets in errors refer to
 * the compressed file. */
int64_t bunzip_read(struct bunzip *bunzip, uint8_t *to, size_t room, struct error *err);

#endif
