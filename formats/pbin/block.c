/* Typed, length-prefixed, checksummed blocks.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/block.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/pbin/block_sum.h"

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
    buffer_u64(buffer, block_sum(buffer->data + begin, buffer->size - begin));
}

static bool is_type(const uint8_t *p)
{
    for (int i = 0; i < 4; i++)
        if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z')))
            return false;
    return true;
}

/* Reads the bytes before the payload, and makes the whole block visible. Returns the number of
 * bytes of it that are available, 0 at the end, or -1 on an error. */
static int64_t open_block(struct stream *stream, struct block *block, const uint8_t **data,
                          size_t *whole, struct error *err)
{
    const char *name = stream_name(stream);
    int64_t have = stream_peek(stream, 8, data, err);
    block->offset = stream_offset(stream);
    if (have <= 0)
        return have;
    if (have < 8)
        return error_set(err, name, block->offset, "block cut short: %d of 8 bytes", (int)have);
    uint32_t length = get_u32(*data, false);
    if (!is_type(*data + 4))
        return error_set(err, name, block->offset + 4,
                         "expected a block: its type is not four letters");
    memcpy(block->type, *data + 4, 4);
    block->type[4] = '\0';
    if (length > BLOCK_MAX_PAYLOAD)
        return error_set(err, name, block->offset,
                         "block '%s' has %" PRIu32 " bytes, expected at most %d", block->type,
                         length, BLOCK_MAX_PAYLOAD);
    *whole = (size_t)length + BLOCK_OVERHEAD;
    return stream_peek(stream, *whole, data, err);
}

int block_next(struct stream *stream, struct block *block, struct error *err)
{
    const uint8_t *data;
    const char *name = stream_name(stream);
    size_t whole = 0;
    int64_t have = open_block(stream, block, &data, &whole, err);
    if (have <= 0)
        return (int)have;
    if ((uint64_t)have < whole)
        return error_set(err, name, block->offset, "block '%s' cut short: %" PRId64 " of %zu bytes",
                         block->type, have, whole);
    if (block_sum(data, whole - 8) != get_u64(data + whole - 8, false))
        return error_set(err, name, block->offset,
                         "block '%s' is damaged: its checksum does not match", block->type);
    block->in = (struct cursor){.data = data + 8, .size = whole - BLOCK_OVERHEAD};
    stream_advance(stream, whole);
    return 1;
}

int block_part(struct stream *stream, struct block *block, struct error *err)
{
    const uint8_t *data;
    struct error damage = {0};
    size_t whole = 0;
    int64_t have = open_block(stream, block, &data, &whole, &damage);
    if (have < 0 && damage.of_system)
        return error_pass(err, &damage);
    if (have <= 0 || (uint64_t)have >= whole)
        return 0;
    size_t there = (size_t)have - 8, length = whole - BLOCK_OVERHEAD;
    block->in = (struct cursor){.data = data + 8, .size = there < length ? there : length};
    stream_advance(stream, (size_t)have);
    return 1;
}
