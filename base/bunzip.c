/* bzip2 decompressed while reading.
 * SPDX-License-Identifier: MIT */
#include "base/bunzip.h"

#include <bzlib.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { INPUT = 256 * 1024, BEST_RATIO = 10000 };
#define FREE_BYTES (UINT64_C(2) << 30) /* whatever the ratio */

struct bunzip {
    int fd;
    const char *name;
    bz_stream bz;
    bool open;           /* bz holds a decoder */
    bool ended;          /* no more bytes from fd */
    struct error damage; /* reported after everything before it has been read */
    uint64_t offset;     /* of the next byte to read from fd */
    uint64_t unpacked;   /* bytes so far */
    char input[INPUT];
};

struct bunzip *bunzip_new(int fd, const char *name, const uint8_t *head, size_t length)
{
    struct bunzip *b = mem_zalloc(1, sizeof *b);
    b->fd = fd;
    b->name = name;
    size_t kept = length < INPUT ? length : INPUT;
    memcpy(b->input, head, kept);
    b->bz.next_in = b->input;
    b->bz.avail_in = (unsigned)kept;
    b->offset = kept;
    return b;
}

void bunzip_delete(struct bunzip *b)
{
    if (b == NULL)
        return;
    if (b->open)
        BZ2_bzDecompressEnd(&b->bz);
    free(b);
}

uint64_t bunzip_held(const struct bunzip *b)
{
    return b->offset;
}

static uint64_t position(const struct bunzip *b)
{
    return b->offset - b->bz.avail_in;
}

static int refill(struct bunzip *b, struct error *err)
{
    ssize_t got;
    if (b->bz.avail_in > 0 || b->ended)
        return 0;
    do
        got = read(b->fd, b->input, INPUT);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_set_errno(err, b->name, errno, "cannot read");
    b->ended = got == 0;
    b->bz.next_in = b->input;
    b->bz.avail_in = (unsigned)got;
    b->offset += (uint64_t)got;
    return 0;
}

/* Begins the next stream. Returns 1, 0 at the end of the file, or -1. */
static int begin(struct bunzip *b, struct error *err)
{
    if (refill(b, err) != 0)
        return -1;
    if (b->bz.avail_in == 0)
        return 0;
    if (*b->bz.next_in != 'B')
        return error_set(err, b->name, position(b), "trailing data after the bzip2 stream");
    if (BZ2_bzDecompressInit(&b->bz, 0, 0) != BZ_OK)
        return error_set(err, b->name, position(b), "out of memory for bzip2");
    b->open = true;
    return 1;
}

static int fail(struct bunzip *b, int code, struct error *err)
{
    if (code == BZ_MEM_ERROR)
        return error_set(err, b->name, position(b), "out of memory for bzip2");
    return error_set(err, b->name, position(b), "damaged bzip2 data");
}

int64_t bunzip_read(struct bunzip *b, uint8_t *to, size_t room, struct error *err)
{
    b->bz.next_out = (char *)to;
    b->bz.avail_out = (unsigned)room;
    while (b->bz.avail_out > 0 && b->damage.text[0] == '\0') {
        int begun = b->open ? 1 : begin(b, &b->damage);
        if (begun <= 0 || refill(b, &b->damage) != 0)
            break;
        unsigned before = b->bz.avail_out;
        int code = BZ2_bzDecompress(&b->bz);
        if (code == BZ_STREAM_END) {
            BZ2_bzDecompressEnd(&b->bz);
            b->open = false;
        } else if (code != BZ_OK) {
            fail(b, code, &b->damage);
        } else if (b->ended && b->bz.avail_in == 0 && b->bz.avail_out == before) {
            error_set(&b->damage, b->name, position(b), "bzip2 data cut short");
        }
    }
    size_t unpacked = room - b->bz.avail_out;
    b->unpacked += unpacked;
    if (b->unpacked > FREE_BYTES && (b->unpacked - FREE_BYTES) / BEST_RATIO > b->offset)
        return error_set(err, b->name, position(b),
                         "unpacks to more than %d times its size: if you trust it, unpack it with "
                         "bunzip2 first",
                         BEST_RATIO);
    if (unpacked == 0 && b->damage.text[0] != '\0')
        return error_set(err, b->damage.file, b->damage.offset, "%s", b->damage.text);
    return (int64_t)unpacked; /* good data comes before the report of the damage */
}
