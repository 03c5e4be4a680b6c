/* Typed, length-prefixed, checksummed blocks.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/block.h"

#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"

size_t block_begin(struct buffer *buffer, const char *type)
{
    size_t begin = buffer->size;
    buffer_u32(buffer, 0);
    buffer_bytes(buffer, type, 4);
    return begin;
}

void block_end(struct buffer *buffer, size_t begin)
{
    put_u32le(buffer->data + begin, (uint32_t)(buffer->size - begin - 8));
    buffer_u64(buffer, XXH3_64bits(buffer->data + begin, buffer->size - begin));
}

static bool is_type(const uint8_t *p)
{
    for (int i = 0; i < 4; i++)
        if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z')))
            return false;
    return true;
}

int block_next(struct stream *stream, struct block *block, struct error *err)
{
    const uint8_t *data;
    const char *name = stream_name(stream);
    int64_t have = stream_peek(stream, 8, &data, err);
    block->offset = stream_offset(stream);
    if (have <= 0)
        return (int)have;
    if (have < 8)
        return error_set(err, name, block->offset, "block cut short: %d of 8 bytes", (int)have);
    uint32_t length = get_u32(data, false);
    if (!is_type(data + 4))
        return error_set(err, name, block->offset + 4,
                         "expected a block: its type is not four letters");
    memcpy(block->type, data + 4, 4);
    block->type[4] = '\0';
    if (length > BLOCK_MAX_PAYLOAD)
        return error_set(err, name, block->offset,
                         "block '%s' has %" PRIu32 " bytes, expected at most %d", block->type,
                         length, BLOCK_MAX_PAYLOAD);
    size_t whole = (size_t)length + BLOCK_OVERHEAD;
    have = stream_peek(stream, whole, &data, err);
    if (have < 0)
        return -1;
    if ((uint64_t)have < whole)
        return error_set(err, name, block->offset, "block '%s' cut short: %" PRId64 " of %zu bytes",
                         block->type, have, whole);
    if (XXH3_64bits(data, whole - 8) != get_u64(data + whole - 8, false))
        return error_set(err, name, block->offset,
                         "block '%s' is damaged: its checksum does not match", block->type);
    block->in = (struct cursor){.data = data + 8, .size = length};
    stream_advance(stream, whole);
    return 1;
}
