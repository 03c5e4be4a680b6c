/* What stream_open.c needs of stream.c.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_STREAM_INTERNAL_H
#define BASE_STREAM_INTERNAL_H

#include "base/stream.h"
#include "base/unpack.h"

/* From the bytes that are visible on, the data is compressed in FORMAT. Only before any is consumed. */
void stream_decompress(struct stream *stream, const struct unpack_format *format);

#endif
