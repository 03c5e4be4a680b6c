/* Adds function, file and line to the lines of a CSV file:
 *
 *   time,pc,power            time,pc,power,function,file,line
 *   0.1,0x1139,2.5           0.1,0x1139,2.5,main,/src/a.c,12
 *
 * Fields may also be separated by semicolons or tabs. Lines before the names that begin with # are copied as they are.
 * If the column is chosen by its number and the first line has an address there, there are no names.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "convert/addr2line/addr2line.h"
#include "formats/sthem/sthem_csv.h"

enum { MAX_LINE = 1 << 20, BATCH = 4096, BATCH_BYTES = 8 << 20 };

struct batch {
    char separator;
    struct buffer text; /* lines without their ends */
    size_t ends[BATCH];
    bool known[BATCH]; /* there is an address */
    uint64_t addresses[BATCH];
    size_t count;
};

/* Field INDEX (from 0) of the current line. Returns 1, 0 when there are fewer, -1 with ERR filled. */
static int find_field(struct csv *csv, size_t index, struct csv_text *field, struct error *err)
{
    const char *at = csv->text;
    for (size_t i = 0;; i++) {
        at = csv_field(csv, at, field);
        if (at == NULL)
            return csv_error(csv, i + 1, err, "a quoted field without an end");
        if (i == index)
            return 1;
        if (*at != csv->separator)
            return 0;
        at++;
    }
}

/* The index of the field of the header, the current line, that is called COLUMN; -1: there is none. */
static int64_t find_name(struct csv *csv, const char *column)
{
    struct csv_text field;
    struct error unused = {0};
    for (size_t i = 0; find_field(csv, i, &field, &unused) > 0; i++)
        if (strlen(column) == field.length && memcmp(column, field.at, field.length) == 0)
            return (int64_t)i;
    return -1;
}

/* Is FIELD an address rather than a name? "add" could be both. */
static bool is_address(const struct csv_text *field)
{
    uint64_t unused;
    return field->length > 0 && field->at[0] >= '0' && field->at[0] <= '9' &&
           addr2line_parse(field->at, field->length, &unused);
}

/* The index of COLUMN in the header, the current line, by its name or its number; -1 with ERR filled. Sets the
 * separator: that with which there is a column of this name, else the first one that is in the line; and NAMED to
 * whether the line is a header. */
static int64_t find_column(struct csv *csv, const char *column, bool *named, struct error *err)
{
    static const char separators[] = ",;\t";
    struct csv_text field = {"", 0};
    char *end;
    *named = true;
    for (size_t i = 0; separators[i] != '\0'; i++) {
        csv->separator = separators[i];
        int64_t found = find_name(csv, column);
        if (found >= 0)
            return found;
    }
    csv->separator = ',';
    for (size_t i = 0; separators[i] != '\0'; i++)
        if (memchr(csv->text, separators[i], csv->length) != NULL) {
            csv->separator = separators[i];
            break;
        }
    unsigned long number = strtoul(column, &end, 10);
    int got = *end == '\0' && number > 0 ? find_field(csv, number - 1, &field, err) : 0;
    *named = got <= 0 || !is_address(&field);
    if (got != 0)
        return got > 0 ? (int64_t)number - 1 : -1;
    return csv_error(csv, 1, err, "no column '%s' in the first line", column);
}

static void put_field(struct buffer *to, char separator, const char *text)
{
    const char special[] = {separator, '"', '\r', '\n', '\0'};
    buffer_u8(to, (uint8_t)separator);
    if (strpbrk(text, special) == NULL) {
        buffer_bytes(to, text, strlen(text));
        return;
    }
    buffer_u8(to, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            buffer_u8(to, '"');
        buffer_u8(to, (uint8_t)*text);
    }
    buffer_u8(to, '"');
}

/* What is not known is empty. */
static void put_answer(const struct addr2line *a, const struct code_frame *frame, char separator,
                       struct buffer *to)
{
    char line[16] = "";
    bool named = strcmp(frame->function, LABEL_UNKNOWN) != 0;
    if (frame->line > 0)
        snprintf(line, sizeof line, "%" PRIu32, frame->line);
    put_field(to, separator, named ? addr2line_function(a, frame) : "");
    put_field(to, separator, frame->file[0] != '\0' ? addr2line_file(a, frame) : "");
    put_field(to, separator, line);
}

static int put_batch(struct addr2line *a, struct batch *b)
{
    static const struct code_frame empty = {LABEL_UNKNOWN, LABEL_UNKNOWN, "", 0, "", 0};
    struct buffer out = {0};
    struct code_location *found = mem_alloc(BATCH * sizeof *found);
    symbolizer_resolve(a->symbolizer, b->addresses, b->count, found);
    for (size_t i = 0, at = 0; i < b->count; at = b->ends[i++]) {
        buffer_bytes(&out, b->text.data + at, b->ends[i] - at);
        put_answer(a, b->known[i] ? &found[i].frames[0] : &empty, b->separator, &out);
        buffer_u8(&out, '\n');
    }
    int result = addr2line_write(a, out.data, out.size);
    b->count = b->text.size = 0;
    buffer_free(&out);
    free(found);
    return result;
}

static int add_line(struct addr2line *a, struct batch *b, struct csv *csv, size_t column,
                    struct error *err)
{
    struct csv_text field = {"", 0};
    uint64_t address = 0;
    int got = find_field(csv, column, &field, err);
    if (got < 0)
        return -1;
    buffer_bytes(&b->text, csv->text, csv->length);
    b->known[b->count] = got > 0 && addr2line_parse(field.at, field.length, &address);
    a->strange += !b->known[b->count];
    b->addresses[b->count] = address + a->base;
    b->ends[b->count++] = b->text.size;
    return b->count == BATCH || b->text.size > BATCH_BYTES ? put_batch(a, b) : 0;
}

/* Copies the comments, and the names with those that are added; if there are none, NAMED is false and the current line
 * is the first row. Returns the index of COLUMN, or -1 with ERR filled. */
static int64_t copy_header(struct addr2line *a, struct csv *csv, const char *column, bool *named,
                           struct error *err)
{
    int got;
    while ((got = csv_next(csv, err)) > 0 && csv->text[0] == '#')
        if (addr2line_write(a, csv->text, csv->length) != 0 || addr2line_write(a, "\n", 1) != 0)
            return -1;
    if (got == 0)
        return stream_fail_empty(csv->stream, "a CSV file with a line of names", err);
    int64_t index = got > 0 ? find_column(csv, column, named, err) : -1;
    if (index < 0 || !*named)
        return index;
    char *added = mem_printf("%.*s%cfunction%cfile%cline\n", (int)csv->length, csv->text,
                             csv->separator, csv->separator, csv->separator);
    int result = addr2line_write(a, added, strlen(added));
    free(added);
    return result == 0 ? index : -1;
}

static int copy(struct addr2line *a, struct csv *csv, const char *column, struct error *err)
{
    bool named = true;
    int64_t index = copy_header(a, csv, column, &named, err);
    if (index < 0)
        return -1;
    struct batch *batch = mem_zalloc(1, sizeof *batch);
    int got = 0, result = 0;
    batch->separator = csv->separator;
    if (!named)
        result = add_line(a, batch, csv, (size_t)index, err);
    while (result == 0 && (got = csv_next(csv, err)) > 0)
        result = add_line(a, batch, csv, (size_t)index, err);
    if (result == 0 && got == 0)
        result = put_batch(a, batch);
    buffer_free(&batch->text);
    free(batch);
    return got < 0 ? -1 : result;
}

int addr2line_csv(struct addr2line *a, const char *path, const char *column, struct error *err)
{
    struct stream *in = stream_open(path, err);
    struct csv csv = {.stream = in, .longest = MAX_LINE, .separator = ','};
    int result = in != NULL ? copy(a, &csv, column, err) : -1;
    csv_free(&csv);
    stream_close(in);
    return result;
}
