/* Lines and fields of a CSV file.
 * SPDX-License-Identifier: MIT */
#include "formats/sthem/sthem_csv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void csv_free(struct csv *csv)
{
    buffer_free(&csv->copy);
    buffer_free(&csv->unquoted);
}

int csv_error(const struct csv *csv, size_t column, struct error *err, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(err, stream_name(csv->stream), NO_OFFSET, "line %" PRIu64 ", column %zu: %s%s",
                     csv->line, column, text,
                     csv->open_end ? " (the file ends in this line, which may be cut short)" : "");
}

/* Copies the last line, which has no line end, and adds one, so that no scanner runs past it. */
static void end_line(struct csv *csv, const uint8_t *data, size_t length)
{
    csv->copy.size = 0;
    buffer_bytes(&csv->copy, data, length);
    buffer_u8(&csv->copy, '\n');
    csv->text = (const char *)csv->copy.data;
    csv->open_end = true;
}

static int next_line(struct csv *csv, struct error *err)
{
    const uint8_t *data, *end = NULL;
    size_t seen = 0, want = 1;
    stream_advance(csv->stream, csv->taken);
    csv->taken = 0;
    csv->line += 1 + csv->more;
    csv->more = 0;
    for (;;) {
        int64_t have = stream_peek(csv->stream, want, &data, err);
        if (have <= 0)
            return (int)have;
        size_t visible = (size_t)have;
        end = memchr(data + seen, '\n', visible - seen);
        if ((end != NULL ? (size_t)(end - data) : visible) > csv->longest)
            return csv_error(csv, 1, err, "line of more than %zu bytes: not a CSV export",
                             csv->longest);
        if (end != NULL || visible < want)
            break;
        seen = visible;
        want = visible * 2;
    }
    csv->text = (const char *)data;
    csv->length = end != NULL ? (size_t)(end - data) : seen;
    csv->taken = csv->length + (end != NULL);
    if (end == NULL)
        end_line(csv, data, csv->length);
    if (csv->length > 0 && csv->text[csv->length - 1] == '\r')
        csv->length--;
    return 1;
}

/* Skips the byte order mark of UTF-8. Returns 1, or -1 if there is one of UTF-16. */
static int skip_mark(struct csv *csv, struct error *err)
{
    if (csv->length >= 3 && memcmp(csv->text, "\xef\xbb\xbf", 3) == 0) {
        csv->text += 3;
        csv->length -= 3;
    }
    if (csv->length >= 2 &&
        (memcmp(csv->text, "\xff\xfe", 2) == 0 || memcmp(csv->text, "\xfe\xff", 2) == 0))
        return csv_error(csv, 1, err, "UTF-16 text, expected UTF-8");
    return 1;
}

int csv_next(struct csv *csv, struct error *err)
{
    int got;
    do
        if ((got = next_line(csv, err)) > 0 && csv->line == 1)
            got = skip_mark(csv, err);
    while (got > 0 && (csv->length == 0 || (csv->comments && csv->text[0] == '#')));
    return got;
}

/* Finds the end of a row. Quotes count only at the beginning of a field and, doubled, inside a quoted one; other
 * fields may contain quotes. */
struct row_scan {
    const char *separators;
    size_t at;        /* the next byte of the row */
    size_t column;    /* from 1 */
    uint64_t breaks;  /* in quoted fields */
    bool inside;      /* a quoted field */
    bool fresh, shut; /* a field begins here, or the previous byte was a closing quote */
};

/* Advances SCAN in the SIZE visible bytes of the row. Returns whether they contain its end. */
static bool scan_row(struct row_scan *scan, const uint8_t *row, size_t size)
{
    for (; scan->at < size; scan->at++) {
        const char c = (char)row[scan->at];
        if (scan->inside) {
            scan->inside = c != '"';
            scan->shut = c == '"';
            scan->breaks += c == '\n';
            continue;
        }
        if (c == '\n')
            return true;
        scan->inside = c == '"' && (scan->fresh || scan->shut);
        scan->fresh = c != '\0' && strchr(scan->separators, c) != NULL;
        scan->column += scan->fresh;
        scan->shut = false;
    }
    return false;
}

static int refuse_row(struct csv *csv, const struct row_scan *scan, bool is_end, struct error *err)
{
    if (!is_end)
        return csv_error(csv, scan->column, err,
                         "row of more than %zu bytes, with line breaks in quoted fields: "
                         "expected the end of the row before",
                         csv->longest);
    csv->open_end = false; /* the message reports that already */
    return csv_error(csv, scan->column, err,
                     "a quoted field without an end: found the end of the file, expected a "
                     "closing quote");
}

int csv_extend(struct csv *csv, const char *separators, struct error *err)
{
    struct row_scan scan = {.separators = separators, .column = 1, .fresh = true};
    const uint8_t *data;
    /* most rows have no quotes */
    if (memchr(csv->text, '"', csv->length) == NULL ||
        (scan_row(&scan, (const uint8_t *)csv->text, csv->length), !scan.inside))
        return 0;
    if (csv->open_end)
        return refuse_row(csv, &scan, true, err);
    size_t mark = 0; /* size of the byte order mark before the first line */
    if (csv->line == 1 && stream_peek(csv->stream, 3, &data, err) >= 3)
        mark = memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (size_t want = csv->taken + 1;; want *= 2) {
        int64_t have = stream_peek(csv->stream, want, &data, err);
        if (have < 0)
            return -1;
        const size_t size = (size_t)have - mark;
        const bool ended = scan_row(&scan, data + mark, size), is_end = (size_t)have < want;
        if (scan.at > csv->longest || (is_end && scan.inside))
            return refuse_row(csv, &scan, is_end && scan.at <= csv->longest, err);
        if (!ended && !is_end)
            continue;
        csv->text = (const char *)data + mark;
        csv->length = scan.at;
        csv->taken = mark + scan.at + ended;
        csv->more = scan.breaks;
        if (!ended)
            end_line(csv, data + mark, scan.at);
        if (csv->length > 0 && csv->text[csv->length - 1] == '\r')
            csv->length--;
        return 0;
    }
}

/* Each field has the same position in the copy as in the line, so that it can be read
 * repeatedly. */
static const char *unquote(struct csv *csv, const char *at, struct csv_text *field)
{
    const char *end = csv->text + csv->length;
    char *to = (char *)csv->unquoted.data + (at - csv->text);
    *field = (struct csv_text){to, 0};
    for (at++;; at++) {
        if (at == end)
            return NULL;
        if (*at == '"' && (++at == end || *at != '"'))
            break;
        to[field->length++] = *at;
    }
    return at == end || *at == csv->separator ? at : NULL;
}

const char *csv_field(struct csv *csv, const char *at, struct csv_text *field)
{
    const char *end = csv->text + csv->length;
    if (at < end && *at == '"') {
        if (csv->unquoted.capacity < csv->length) {
            buffer_extend(&csv->unquoted, csv->length);
            csv->unquoted.size = 0;
        }
        return unquote(csv, at, field);
    }
    const char *stop = at < end ? memchr(at, csv->separator, (size_t)(end - at)) : NULL;
    field->at = at;
    field->length = (size_t)((stop != NULL ? stop : end) - at);
    return field->at + field->length;
}
