/* Functions of stream.c for stream_open.c.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_STREAM_INTERNAL_H
#define BASE_STREAM_INTERNAL_H

#include "base/stream.h"
#include "base/unpack.h"

/* Declares that the data, beginning with the visible bytes, is compressed in FORMAT. Only before any byte is
 * consumed. */
void stream_decompress(struct stream *stream, const struct unpack_format *format);

#endif
