/* Reads numbers and strings of DWARF sections with bounds checks. Beyond the end every value is 0 or "", and BAD is
 * set, so that one check suffices after reading a whole entry.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_DWARF_BYTES_H
#define FORMATS_ELF_DWARF_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* A section or a part of a section; all zero: none. */
struct dwarf_span {
    const uint8_t *data;
    uint64_t size; /* [bytes] */
};

struct dwarf_bytes {
    const uint8_t *at, *end;
    bool big, bad;
};

/* The bytes of SPAN from OFFSET to its end; BAD is set if OFFSET is outside. */
static inline struct dwarf_bytes dwarf_bytes_at(struct dwarf_span span, uint64_t offset, bool big)
{
    static const uint8_t none[1];
    const uint8_t *begin =
        span.data != NULL ? span.data : none; /* C does not allow adding to NULL, not even 0 */
    struct dwarf_bytes b = {begin, begin, big, offset > span.size};
    if (!b.bad && span.size > 0) {
        b.at = span.data + offset;
        b.end = span.data + span.size;
    }
    return b;
}

static inline uint64_t dwarf_bytes_left(const struct dwarf_bytes *b)
{
    return (uint64_t)(b->end - b->at);
}

static inline void dwarf_skip(struct dwarf_bytes *b, uint64_t count)
{
    bool enough = count <= dwarf_bytes_left(b);
    b->bad |= !enough;
    b->at = enough ? b->at + count : b->end;
}

/* Reads a number of SIZE bytes: 1, 2, 3, 4 or 8; other sizes set BAD. */
static inline uint64_t dwarf_uint(struct dwarf_bytes *b, unsigned size)
{
    const uint8_t *p = b->at;
    if (size > dwarf_bytes_left(b)) {
        dwarf_skip(b, size);
        return 0;
    }
    b->at += size;
    switch (size) {
    case 1:
        return p[0];
    case 2:
        return get_u16(p, b->big);
    case 3:
        return b->big ? (uint64_t)p[0] << 16 | (uint64_t)p[1] << 8 | p[2]
                      : (uint64_t)p[2] << 16 | (uint64_t)p[1] << 8 | p[0];
    case 4:
        return get_u32(p, b->big);
    case 8:
        return get_u64(p, b->big);
    default:
        b->bad = true;
        return 0;
    }
}

/* Reads the length of a unit or table [bytes], which follows. Sets *OFFSET_SIZE to the size of the
 * offsets in it: 4 or 8 [bytes]. */
static inline uint64_t dwarf_length(struct dwarf_bytes *b, uint8_t *offset_size)
{
    uint64_t length = dwarf_uint(b, 4);
    *offset_size = length == UINT32_MAX ? 8 : 4;
    return length == UINT32_MAX ? dwarf_uint(b, 8) : length;
}

/* Reads a ULEB128 number; bits 64 and higher are dropped. */
static inline uint64_t dwarf_uleb(struct dwarf_bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; b->at < b->end; shift += 7) {
        uint8_t byte = *b->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    b->bad = true;
    return 0;
}

static inline int64_t dwarf_sleb(struct dwarf_bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; b->at < b->end;) {
        uint8_t byte = *b->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (shift < 64 && (byte & 0x40))
            value |= ~UINT64_C(0) << shift;
        return (int64_t)value;
    }
    b->bad = true;
    return 0;
}

/* Reads a NUL-terminated string, borrowed from the section. */
static inline const char *dwarf_string(struct dwarf_bytes *b)
{
    const char *text = (const char *)b->at;
    const uint8_t *nul = b->at < b->end ? memchr(b->at, '\0', dwarf_bytes_left(b)) : NULL;
    if (nul == NULL) {
        b->bad = true;
        b->at = b->end;
        return "";
    }
    b->at = nul + 1;
    return text;
}

#endif
