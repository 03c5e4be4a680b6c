/* A growable byte buffer and a bounds-checked cursor.
 * SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

uint8_t *buffer_extend(struct buffer *b, size_t count)
{
    mem_reserve(&b->data, &b->capacity, b->size + count, 1);
    b->size += count;
    return b->data + b->size - count;
}

void buffer_bytes(struct buffer *b, const void *data, size_t count)
{
    if (count > 0)
        memcpy(buffer_extend(b, count), data, count);
}

void buffer_vprintf(struct buffer *b, const char *format, va_list args)
{
    char *text = mem_vprintf(format, args);
    buffer_bytes(b, text, strlen(text));
    free(text);
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buffer_vprintf(b, format, args);
    va_end(args);
}

void buffer_u8(struct buffer *b, uint8_t value)
{
    *buffer_extend(b, 1) = value;
}

void buffer_u32(struct buffer *b, uint32_t value)
{
    put_u32le(buffer_extend(b, 4), value);
}

void buffer_u64(struct buffer *b, uint64_t value)
{
    put_u64le(buffer_extend(b, 8), value);
}

void buffer_f64(struct buffer *b, double value)
{
    buffer_u64(b, bits_of_double(value));
}

void buffer_string(struct buffer *b, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);
    buffer_u32(b, (uint32_t)length);
    buffer_bytes(b, text, length);
}

size_t cursor_left(const struct cursor *c)
{
    return c->bad ? 0 : c->size - c->at;
}

const uint8_t *cursor_bytes(struct cursor *c, size_t count)
{
    static const uint8_t nothing;
    if (c->bad || count > cursor_left(c)) {
        c->bad = true;
        return NULL;
    }
    if (c->data == NULL)
        return &nothing; /* COUNT is 0, and NULL means failure */
    c->at += count;
    return c->data + c->at - count;
}

uint8_t cursor_u8(struct cursor *c)
{
    const uint8_t *p = cursor_bytes(c, 1);
    return p == NULL ? 0 : *p;
}

uint32_t cursor_u32(struct cursor *c)
{
    const uint8_t *p = cursor_bytes(c, 4);
    return p == NULL ? 0 : get_u32(p, false);
}

uint64_t cursor_u64(struct cursor *c)
{
    const uint8_t *p = cursor_bytes(c, 8);
    return p == NULL ? 0 : get_u64(p, false);
}

double cursor_f64(struct cursor *c)
{
    return double_of_bits(cursor_u64(c));
}

const char *cursor_string(struct cursor *c, size_t *length)
{
    uint32_t size = cursor_u32(c);
    const uint8_t *p = cursor_bytes(c, size);
    *length = p == NULL ? 0 : size;
    return p == NULL ? "" : (const char *)p;
}
