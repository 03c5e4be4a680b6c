/* JSON values as all our documents have them.
 * SPDX-License-Identifier: MIT */
#include "formats/table/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

enum { FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY };

void json_begin(void)
{
    json_set_alloc_funcs(mem_alloc, free);
}

json_t *json_of_text(const char *text)
{
    if (text == NULL)
        return json_null();
    char *valid = utf8_repair(text);
    json_t *value = json_string(valid);
    free(valid);
    return value;
}

json_t *json_of_count(uint64_t count)
{
    /* jansson's integers end at 2^63 */
    return count <= INT64_MAX ? json_integer((json_int_t)count) : json_real((double)count);
}

json_t *json_of_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* jansson writes DEL as it is, which terminals obey. */
static void write_text(struct output *out, const char *text)
{
    for (const char *del; (del = strchr(text, 0x7f)) != NULL; text = del + 1) {
        output_write(out, text, (size_t)(del - text));
        output_write(out, "\\u007f", 6);
    }
    output_write(out, text, strlen(text));
}

void json_write(struct output *out, json_t *value)
{
    char *text = json_dumps(value, FLAGS);
    json_decref(value);
    write_text(out, text);
    free(text);
}
