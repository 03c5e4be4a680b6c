/* JSON values as all our documents have them.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TABLE_JSON_H
#define FORMATS_TABLE_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "base/output.h"

/* Before anything else: makes running out of memory end the program, not a value. */
void json_begin(void);

/* Each is a new reference. Texts are repaired to valid UTF-8; NULL, and numbers that are not finite, are null. */
json_t *json_of_text(const char *text);
json_t *json_of_count(uint64_t count);
json_t *json_of_real(double value);

/* Writes VALUE in one line, without a newline, and takes it. */
void json_write(struct output *out, json_t *value);

#endif
