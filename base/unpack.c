/* Decompresses data while reading it, in any supported format.
 * SPDX-License-Identifier: MIT */
#include "base/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/unpack_internal.h"

enum { INPUT = 256 * 1024, BEST_RATIO = 10000 };
#define FREE_BYTES (UINT64_C(2) << 30) /* allowed at any ratio */

struct unpack {
    const struct unpack_format *format;
    int fd;
    const char *name;
    void *decoder;       /* of the current stream; NULL: between two streams */
    bool ended;          /* no more bytes from fd */
    struct error damage; /* reported after all data before it has been read */
    uint64_t offset;     /* of the next byte to read from fd */
    uint64_t unpacked;   /* number of bytes so far */
    struct unpack_spans spans;
    uint8_t input[INPUT];
};

struct unpack *unpack_new(const struct unpack_format *format, int fd, const char *name,
                          const uint8_t *head, size_t length)
{
    struct unpack *u = mem_zalloc(1, sizeof *u);
    u->format = format;
    u->fd = fd;
    u->name = name;
    size_t kept = length < INPUT ? length : INPUT;
    memcpy(u->input, head, kept);
    u->spans.in = u->input;
    u->spans.in_left = kept;
    u->offset = kept;
    return u;
}

void unpack_delete(struct unpack *u)
{
    if (u == NULL)
        return;
    if (u->decoder != NULL)
        u->format->close(u->decoder);
    free(u);
}

uint64_t unpack_held(const struct unpack *u)
{
    return u->offset;
}

static uint64_t position(const struct unpack *u)
{
    return u->offset - u->spans.in_left;
}

static int refill(struct unpack *u, struct error *err)
{
    ssize_t got;
    if (u->spans.in_left > 0 || u->ended)
        return 0;
    do
        got = read(u->fd, u->input, INPUT);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_set_errno(err, u->name, errno, "cannot read");
    u->ended = got == 0;
    u->spans.in = u->input;
    u->spans.in_left = (size_t)got;
    u->offset += (uint64_t)got;
    return 0;
}

static int skip_padding(struct unpack *u, struct error *err)
{
    do {
        while (u->spans.in_left > 0 && *u->spans.in == 0) {
            u->spans.in++;
            u->spans.in_left--;
        }
        if (refill(u, err) != 0)
            return -1;
    } while (u->spans.in_left > 0 && *u->spans.in == 0);
    return 0;
}

/* Begins the next stream. Returns 1, 0 at the end of the file, or -1. */
static int begin(struct unpack *u, struct error *err)
{
    if (refill(u, err) != 0 || (u->format->padded && skip_padding(u, err) != 0))
        return -1;
    if (u->spans.in_left == 0)
        return 0;
    if (!u->format->begins(u->spans.in, u->spans.in_left))
        return error_set(err, u->name, position(u), "trailing data after the %s stream",
                         u->format->name);
    u->decoder = u->format->open();
    if (u->decoder == NULL)
        return error_set(err, u->name, position(u), "out of memory for %s", u->format->name);
    return 1;
}

static int fail(struct unpack *u, enum unpack_result result, struct error *err)
{
    if (result == UNPACK_FAILED)
        return error_set(err, u->name, position(u), "out of memory for %s", u->format->name);
    if (result == UNPACK_TOO_BIG)
        return error_set(
            err, u->name, position(u),
            "needs more than %d MiB to decompress: if you trust it, decompress it with %s "
            "first",
            UNPACK_MEMORY >> 20, u->format->program);
    return error_set(err, u->name, position(u), "damaged %s data", u->format->name);
}

/* One call of the decoder, or the beginning of the next stream. Returns 1, 0 at the end of the file, or -1. */
static int step(struct unpack *u, struct error *err)
{
    int begun = u->decoder != NULL ? 1 : begin(u, err);
    if (begun <= 0)
        return begun;
    if (refill(u, err) != 0)
        return -1;
    struct unpack_spans before = u->spans;
    enum unpack_result result = u->format->step(u->decoder, &u->spans);
    if (result == UNPACK_END) {
        u->format->close(u->decoder);
        u->decoder = NULL;
    } else if (result != UNPACK_MORE) {
        return fail(u, result, err);
    } else if (u->ended && u->spans.in_left == 0 && u->spans.out_left == before.out_left) {
        return error_set(err, u->name, position(u), "%s data cut short", u->format->name);
    }
    return 1;
}

int64_t unpack_read(struct unpack *u, uint8_t *to, size_t room, struct error *err)
{
    u->spans.out = to;
    u->spans.out_left = room;
    while (u->spans.out_left > 0 && u->damage.text[0] == '\0')
        if (step(u, &u->damage) == 0)
            break;
    size_t unpacked = room - u->spans.out_left;
    u->unpacked += unpacked;
    if (u->unpacked > FREE_BYTES && (u->unpacked - FREE_BYTES) / BEST_RATIO > u->offset)
        return error_set(
            err, u->name, position(u),
            "unpacks to more than %d times its size: if you trust it, decompress it with "
            "%s first",
            BEST_RATIO, u->format->program);
    if (unpacked == 0 && u->damage.text[0] != '\0')
        return error_set(err, u->damage.file, u->damage.offset, "%s", u->damage.text);
    return (int64_t)unpacked; /* good data is delivered before damage is reported */
}
