/* JSON values, in the form used in all documents of the tools.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TABLE_JSON_H
#define FORMATS_TABLE_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/output.h"

/* Call this first: it makes the program exit if memory runs out, instead of losing a value. */
void json_begin(void);

/* Each returns a new reference. Texts are repaired to valid UTF-8; NULL, and numbers that are not finite, are null. */
json_t *json_of_text(const char *text);
json_t *json_of_count(uint64_t count);
json_t *json_of_real(double value);

/* Writes VALUE in one line, without a newline, and releases it. Numbers have enough digits to be read back exactly. */
void json_write(struct output *out, json_t *value);

/* The same for a text, a count and a number, without creating a json_t. */
void json_put_text(struct output *out, const char *text);
void json_put_count(struct output *out, uint64_t count);
void json_put_real(struct output *out, double value);

/* Append a text in UTF-8, or a number with 9 digits, as data within a page: <, > and & are escaped, so
 * that no text can end the element of the data or begin another. */
void json_add_text(struct buffer *to, const char *text);
void json_add_real(struct buffer *to, double value);

#endif
