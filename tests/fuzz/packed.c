/* Compressed input: bzip2, gzip, xz, zstd. The first byte of the input is the options.
 * SPDX-License-Identifier: MIT */
#include "base/stream.h"
#include "tests/fuzz/input.h"

enum { MAX_BYTES = 8 << 20 };

static void read_stream(struct stream *stream, size_t step, struct error *err)
{
    const uint8_t *bytes;
    uint64_t offset = stream_offset(stream);
    while (offset < MAX_BYTES) {
        int64_t got = stream_peek(stream, step, &bytes, err);
        if (got <= 0)
            return;
        input_touch(bytes, (size_t)got);
        stream_advance(stream, (size_t)got);
        if (stream_offset(stream) != offset + (uint64_t)got)
            abort();
        offset = stream_offset(stream);
        stream_held(stream);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    char path[64];
    if (size < 1)
        return 0;
    int fd = input_file(data + 1, size - 1, path);
    struct stream *stream = stream_open(path, &err);
    if (stream != NULL && (data[0] & 1) != 0)
        stream_forgive(stream);
    if (stream != NULL && (data[0] & 2) != 0) {
        uint64_t to = 0;
        if (stream_make_seekable(stream, &err) == 0)
            to = stream_size(stream) / 2;
        if (err.text[0] == '\0' && stream_seek(stream, to, &err) == 0)
            read_stream(stream, 1, &err);
    } else if (stream != NULL && ((data[0] & 4) == 0 || stream_skip(stream, 1000, &err) == 0)) {
        read_stream(stream, (data[0] & 8) != 0 ? 100000 : 1, &err);
    }
    stream_close(stream);
    close(fd);
    return 0;
}
