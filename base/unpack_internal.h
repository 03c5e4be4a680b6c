/* The interface of a compression format to unpack.c.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_UNPACK_INTERNAL_H
#define BASE_UNPACK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNPACK_MEMORY = 256 << 20
}; /* memory limit of a decoder; usual settings of all formats need less */

enum unpack_result {
    UNPACK_MORE,    /* input or room for output ran out */
    UNPACK_END,     /* of a stream */
    UNPACK_DAMAGED, /* not in this format */
    UNPACK_TOO_BIG, /* needs more than UNPACK_MEMORY */
    UNPACK_FAILED,  /* out of memory */
};

/* Input and output of a decoder, which advances the pointers and reduces the counts. */
struct unpack_spans {
    const uint8_t *in;
    size_t in_left;
    uint8_t *out;
    size_t out_left;
};

struct unpack_format {
    const char *name;    /* "gzip" */
    const char *program; /* program that decompresses it: "gunzip" */
    bool padded;         /* zeros may follow a stream */
    /* Returns whether a stream can begin with the LENGTH bytes at DATA, which may be truncated. */
    bool (*begins)(const uint8_t *data, size_t length);
    void *(*open)(void); /* a decoder of one stream; NULL: out of memory */
    enum unpack_result (*step)(void *decoder, struct unpack_spans *spans);
    void (*close)(void *decoder);
};

extern const struct unpack_format unpack_bzip2, unpack_gzip, unpack_xz, unpack_zstd;

#endif
