/* Writes JSON values, in the same way in all documents.
 * SPDX-License-Identifier: MIT */
#include "formats/table/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

enum { FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY };

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

/* jansson writes DEL unchanged, and terminals obey it. */
static void write_text(struct output *out, const char *text)
{
    for (const char *del; (del = strchr(text, 0x7f)) != NULL; text = del + 1) {
        output_write(out, text, (size_t)(del - text));
        output_write(out, "\\u007f", 6);
    }
    output_write(out, text, strlen(text));
}

/* Writes a value that is neither a container nor a real number. */
static void write_plain(struct output *out, const json_t *value)
{
    char *text = json_dumps(value, FLAGS);
    write_text(out, text);
    free(text);
}

/* The length of TEXT if it needs no escapes, else 0. */
static size_t plain_length(const char *text)
{
    size_t length = 0;
    while (text[length] >= ' ' && text[length] < 0x7f && text[length] != '"' &&
           text[length] != '\\')
        length++;
    return text[length] == '\0' ? length : 0;
}

void json_put_text(struct output *out, const char *text)
{
    size_t plain = text != NULL ? plain_length(text) : 0;
    if (plain > 0) { /* true for most texts; jansson takes several times as long */
        output_write(out, "\"", 1);
        output_write(out, text, plain);
        output_write(out, "\"", 1);
        return;
    }
    json_t *value = json_of_text(text);
    write_plain(out, value);
    json_decref(value);
}

void json_add_text(struct buffer *to, const char *text)
{
    buffer_u8(to, '"');
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || strchr("\"\\<>&'\x7f", *c) != NULL)
            buffer_printf(to, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            buffer_u8(to, (uint8_t)*c);
    buffer_u8(to, '"');
}

void json_add_real(struct buffer *to, double value)
{
    if (isfinite(value))
        buffer_printf(to, "%.9g", value);
    else
        buffer_printf(to, "null");
}

void json_put_count(struct output *out, uint64_t count)
{
    output_printf(out, "%" PRIu64, count);
}

void json_put_real(struct output *out, double value)
{
    char text[40];
    if (!isfinite(value)) {
        output_write(out, "null", 4);
        return;
    }
    format_real(text, sizeof text, value);
    /* readers that distinguish types must not take it for an integer */
    output_printf(out, "%s%s", text, strpbrk(text, ".e") != NULL ? "" : ".0");
}

/* Used instead of jansson, which writes 17 digits: 0.1 as 0.10000000000000001. */
/* NOLINTNEXTLINE(misc-no-recursion): only as deep as the documents of the tools */
static void write_value(struct output *out, json_t *value)
{
    const char *name, *separator = "";
    json_t *member;
    size_t i;
    if (json_is_real(value)) {
        json_put_real(out, json_real_value(value));
    } else if (json_is_object(value)) {
        output_write(out, "{", 1);
        json_object_foreach(value, name, member)
        {
            output_printf(out, "%s", separator);
            json_put_text(out, name);
            output_write(out, ":", 1);
            write_value(out, member);
            separator = ",";
        }
        output_write(out, "}", 1);
    } else if (json_is_array(value)) {
        output_write(out, "[", 1);
        json_array_foreach(value, i, member)
        {
            output_printf(out, "%s", separator);
            write_value(out, member);
            separator = ",";
        }
        output_write(out, "]", 1);
    } else {
        write_plain(out, value);
    }
}

void json_write(struct output *out, json_t *value)
{
    write_value(out, value);
    json_decref(value);
}
