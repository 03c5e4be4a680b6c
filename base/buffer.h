/* A growable byte buffer with little-endian writers, and a bounds-checked cursor that reads one.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Empty when zeroed; buffer_free releases the bytes. */
struct buffer {
    uint8_t *data;
    size_t size, capacity;
};

void buffer_free(struct buffer *buffer);

/* Grows SIZE by COUNT bytes, with room for them; returns a pointer to them, borrowed until the next call on the
 * buffer. */
uint8_t *buffer_extend(struct buffer *buffer, size_t count);

/* Each appends a value, little-endian; buffer_bytes appends COUNT bytes. */
void buffer_bytes(struct buffer *buffer, const void *data, size_t count);
void buffer_u8(struct buffer *buffer, uint8_t value);
void buffer_u32(struct buffer *buffer, uint32_t value);
void buffer_u64(struct buffer *buffer, uint64_t value);
void buffer_f64(struct buffer *buffer, double value);
/* Append text as formatted by printf and vprintf, without its NUL. */
void buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *buffer, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Appends the length as u32, then the bytes without NUL; NULL counts as "". */
void buffer_string(struct buffer *buffer, const char *text);

/* Reads little-endian values from SIZE bytes. Beyond the end, every value is 0 or empty and BAD is
 * set, so that one check after reading a whole record suffices. */
struct cursor {
    const uint8_t *data;
    size_t size, at;
    bool bad;
};

/* COUNT bytes, borrowed from the data, or NULL if fewer are left. */
const uint8_t *cursor_bytes(struct cursor *cursor, size_t count);
uint8_t cursor_u8(struct cursor *cursor);
uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);
double cursor_f64(struct cursor *cursor);
/* A string written by buffer_string: *LENGTH bytes, not NUL-terminated, borrowed from the data. */
const char *cursor_string(struct cursor *cursor, size_t *length);
/* The number of bytes left; 0 after a failed read. */
size_t cursor_left(const struct cursor *cursor);

#endif
