/* The four compression formats, each decoded by its own library.
 * SPDX-License-Identifier: MIT */
#include <bzlib.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"
#include "base/unpack.h"
#include "base/unpack_internal.h"

static bool matches(const uint8_t *data, size_t length, const uint8_t *magic, size_t size)
{
    return length > 0 && memcmp(data, magic, length < size ? length : size) == 0;
}

static unsigned capped(size_t count)
{
    return count < UINT_MAX ? (unsigned)count : UINT_MAX;
}

/* ---- bzip2 ---- */

/* Checks for "BZh1".."BZh9" and the magic of a block or of the end of the stream. */
static bool bzip2_begins(const uint8_t *data, size_t length)
{
    static const uint8_t block[] = {0x31, 0x41, 0x59, 0x26, 0x53, 0x59};
    static const uint8_t end[] = {0x17, 0x72, 0x45, 0x38, 0x50, 0x90};
    if (!matches(data, length, (const uint8_t *)"BZh", 3))
        return false;
    if (length > 3 && (data[3] < '1' || data[3] > '9'))
        return false;
    return length < 5 || matches(data + 4, length - 4, block, sizeof block) ||
           matches(data + 4, length - 4, end, sizeof end);
}

static void *bzip2_open(void)
{
    bz_stream *bz = mem_zalloc(1, sizeof *bz);
    if (BZ2_bzDecompressInit(bz, 0, 0) == BZ_OK)
        return bz;
    free(bz);
    return NULL;
}

static enum unpack_result bzip2_step(void *decoder, struct unpack_spans *spans)
{
    bz_stream *bz = decoder;
    bz->next_in = (char *)(uintptr_t)spans->in; /* not written to */
    bz->avail_in = capped(spans->in_left);
    bz->next_out = (char *)spans->out;
    bz->avail_out = capped(spans->out_left);
    int code = BZ2_bzDecompress(bz);
    spans->in_left -= (size_t)((uint8_t *)bz->next_in - spans->in);
    spans->in = (uint8_t *)bz->next_in;
    spans->out_left -= (size_t)((uint8_t *)bz->next_out - spans->out);
    spans->out = (uint8_t *)bz->next_out;
    if (code == BZ_OK)
        return UNPACK_MORE;
    if (code == BZ_MEM_ERROR)
        return UNPACK_FAILED;
    return code == BZ_STREAM_END ? UNPACK_END : UNPACK_DAMAGED;
}

static void bzip2_close(void *decoder)
{
    BZ2_bzDecompressEnd(decoder);
    free(decoder);
}

const struct unpack_format unpack_bzip2 = {
    "bzip2", "bunzip2", false, bzip2_begins, bzip2_open, bzip2_step, bzip2_close,
};

/* ---- gzip (RFC 1952) ---- */

static bool gzip_begins(const uint8_t *data, size_t length)
{
    static const uint8_t magic[] = {0x1f, 0x8b, 8};
    return matches(data, length, magic, sizeof magic) && (length < 4 || (data[3] & 0xe0) == 0);
}

static void *gzip_open(void)
{
    z_stream *z = mem_zalloc(1, sizeof *z);
    if (inflateInit2(z, 15 + 16) == Z_OK) /* the largest window; a gzip header and checksum */
        return z;
    free(z);
    return NULL;
}

static enum unpack_result gzip_step(void *decoder, struct unpack_spans *spans)
{
    z_stream *z = decoder;
    z->next_in = (uint8_t *)(uintptr_t)spans->in; /* not written to */
    z->avail_in = capped(spans->in_left);
    z->next_out = spans->out;
    z->avail_out = capped(spans->out_left);
    int code = inflate(z, Z_NO_FLUSH);
    spans->in_left -= (size_t)(z->next_in - spans->in);
    spans->in = z->next_in;
    spans->out_left -= (size_t)(z->next_out - spans->out);
    spans->out = z->next_out;
    if (code == Z_OK || code == Z_BUF_ERROR)
        return UNPACK_MORE;
    if (code == Z_MEM_ERROR)
        return UNPACK_FAILED;
    return code == Z_STREAM_END ? UNPACK_END : UNPACK_DAMAGED;
}

static void gzip_close(void *decoder)
{
    inflateEnd(decoder);
    free(decoder);
}

const struct unpack_format unpack_gzip = {
    "gzip", "gunzip", true, gzip_begins, gzip_open, gzip_step, gzip_close,
};

/* ---- xz ---- */

static bool xz_begins(const uint8_t *data, size_t length)
{
    static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};
    return matches(data, length, magic, sizeof magic);
}

static void *xz_open(void)
{
    lzma_stream *xz = mem_alloc(sizeof *xz);
    *xz = (lzma_stream)LZMA_STREAM_INIT;
    if (lzma_stream_decoder(xz, UNPACK_MEMORY, 0) == LZMA_OK)
        return xz;
    free(xz);
    return NULL;
}

static enum unpack_result xz_step(void *decoder, struct unpack_spans *spans)
{
    lzma_stream *xz = decoder;
    xz->next_in = spans->in;
    xz->avail_in = spans->in_left;
    xz->next_out = spans->out;
    xz->avail_out = spans->out_left;
    lzma_ret code = lzma_code(xz, LZMA_RUN);
    *spans = (struct unpack_spans){xz->next_in, xz->avail_in, xz->next_out, xz->avail_out};
    if (code == LZMA_OK || code == LZMA_BUF_ERROR)
        return UNPACK_MORE;
    if (code == LZMA_MEM_ERROR)
        return UNPACK_FAILED;
    if (code == LZMA_MEMLIMIT_ERROR)
        return UNPACK_TOO_BIG;
    return code == LZMA_STREAM_END ? UNPACK_END : UNPACK_DAMAGED;
}

static void xz_close(void *decoder)
{
    lzma_end(decoder);
    free(decoder);
}

const struct unpack_format unpack_xz = {
    "xz", "unxz", true, xz_begins, xz_open, xz_step, xz_close,
};

/* ---- zstd (RFC 8878) ---- */

/* Checks for a frame, or for a skippable frame, which parallel compressors write. */
static bool zstd_begins(const uint8_t *data, size_t length)
{
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd}, skipped[] = {0x2a, 0x4d, 0x18};
    if (matches(data, length, frame, sizeof frame))
        return true;
    return length > 1 && data[0] >= 0x50 && data[0] <= 0x5f &&
           matches(data + 1, length - 1, skipped, sizeof skipped);
}

static void *zstd_open(void)
{
    return ZSTD_createDStream(); /* it refuses windows of more than 128 MiB */
}

static enum unpack_result zstd_step(void *decoder, struct unpack_spans *spans)
{
    ZSTD_inBuffer in = {spans->in, spans->in_left, 0};
    ZSTD_outBuffer out = {spans->out, spans->out_left, 0};
    size_t code = ZSTD_decompressStream(decoder, &out, &in);
    *spans = (struct unpack_spans){spans->in + in.pos, spans->in_left - in.pos,
                                   spans->out + out.pos, spans->out_left - out.pos};
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_no_error:
        return code == 0 ? UNPACK_END : UNPACK_MORE;
    case ZSTD_error_memory_allocation:
        return UNPACK_FAILED;
    case ZSTD_error_frameParameter_windowTooLarge:
        return UNPACK_TOO_BIG;
    default:
        return UNPACK_DAMAGED;
    }
}

static void zstd_close(void *decoder)
{
    ZSTD_freeDStream(decoder);
}

const struct unpack_format unpack_zstd = {
    "zstd", "unzstd", false, zstd_begins, zstd_open, zstd_step, zstd_close,
};

const struct unpack_format *unpack_recognise(const uint8_t *head, size_t length)
{
    static const struct unpack_format *const formats[] = {&unpack_bzip2, &unpack_gzip, &unpack_xz,
                                                          &unpack_zstd};
    for (size_t i = 0; length >= 4 && i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->begins(head, length))
            return formats[i];
    return NULL;
}
