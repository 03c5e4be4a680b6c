/* Streams that recognise compressed data. In a separate file, so that programs that read only plain
 * data, such as the sampler on a board, need no compression libraries.
 * SPDX-License-Identifier: MIT */
#include "base/stream_internal.h"

struct stream *stream_open(const char *path, struct error *err)
{
    const uint8_t *data;
    struct stream *s = stream_open_plain(path, err);
    int64_t have = s != NULL ? stream_peek(s, UNPACK_HEAD, &data, err) : -1;
    if (have < 0) {
        stream_close(s);
        return NULL;
    }
    const struct unpack_format *format = unpack_recognise(data, (size_t)have);
    if (format != NULL)
        stream_decompress(s, format);
    return s;
}
