/* Makes text from files valid for JSON and safe for terminals.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length [bytes] of the valid UTF-8 character at TEXT (NUL-terminated), 0 if invalid: stray bytes, overlong
 * forms, surrogates. */
size_t utf8_length(const char *text);

/* The character at TEXT, which has LENGTH valid bytes, as utf8_length returns them. */
uint32_t utf8_code(const char *text, size_t length);

/* The number of columns that the character at TEXT takes on a terminal: 2 for East Asian characters
 * and pictographs, otherwise 1, also for a stray byte (LENGTH 0). */
size_t utf8_columns(const char *text, size_t length);

/* The largest number of bytes of TEXT, at most MOST, that ends with a complete character. */
size_t utf8_limit(const char *text, size_t most);

/* A copy of TEXT that is valid UTF-8: each stray byte becomes U+FFFD. Caller frees. */
char *utf8_repair(const char *text);

/* A copy of TEXT that is safe on a terminal and in a report: the bytes of control characters, of
 * characters that are invisible or reorder others (bidirectional overrides), and stray bytes become
 * \xNN. Caller frees. Unless WIDTH is NULL, sets *WIDTH to the number of columns that the copy
 * takes on a terminal. */
char *utf8_visible(const char *text, size_t *width);

#endif
