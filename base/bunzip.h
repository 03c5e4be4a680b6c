/* bzip2 unpacked as it is read from a file descriptor, several streams in a row included.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_BUNZIP_H
#define BASE_BUNZIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bunzip;

/* Reads on from FD (borrowed, as is NAME), behind the LENGTH bytes at HEAD that the caller has
 * read already (at most 256 KiB). */
struct bunzip *bunzip_new(int fd, const char *name, const uint8_t *head, size_t length);
void bunzip_delete(struct bunzip *bunzip);

/* Writes up to ROOM unpacked bytes to TO. Returns their number, 0 at the end of the last stream,
 * or -1: damaged, cut short, or followed by something that is not bzip2. Offsets in errors are
 * those of the compressed file. */
int64_t bunzip_read(struct bunzip *bunzip, uint8_t *to, size_t room, struct error *err);

#endif
