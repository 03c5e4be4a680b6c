/* Adds function, file and line to the rows of a CSV file:
 *
 *   time,pc,power            time,pc,power,function,file,line
 *   0.1,0x1139,2.5           0.1,0x1139,2.5,main,/src/a.c,12
 *
 * Fields may also be separated by semicolons or tabs. Lines that begin with # are copied unchanged,
 * before the header and, if they have no address, after it. If the column is chosen by its number
 * and the first line has an address there, there is no header. Quoted fields may contain line
 * breaks, but not in comments.
 *
 * Addresses have 0x, or are all hexadecimal or all decimal. Numbers without letters can be either:
 * they are read in the way in which more of the first numbers are addresses of code.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "convert/addr2line/addr2line.h"
#include "formats/sthem/sthem_csv.h"

enum { MAX_ROW = 1 << 20, BATCH = 4096, BATCH_BYTES = 8 << 20 };
static const char separators[] = ",;\t";

enum row_kind {
    ROW_COMMENT, /* copied unchanged */
    ROW_NONE,    /* no address */
    ROW_HEX,
    ROW_DIGITS /* hexadecimal or decimal */
};

struct batch {
    char separator;
    struct buffer text; /* rows without line ends */
    struct buffer out;  /* unwritten: early errors come before any output */
    size_t ends[BATCH];
    enum row_kind kinds[BATCH];
    uint64_t addresses[BATCH];
    uint64_t decimals[BATCH]; /* of ROW_DIGITS */
    size_t count;
    bool is_decimal, is_decided; /* ROW_DIGITS */
};

/* Finds field INDEX (from 0) of the current line. Returns 1, 0 if there are fewer fields, or -1
 * with ERR filled. */
static int find_field(struct csv *csv, size_t index, struct csv_text *field, struct error *err)
{
    const char *at = csv->text;
    for (size_t i = 0;; i++) {
        at = csv_field(csv, at, field);
        if (at == NULL)
            return csv_error(
                csv, i + 1, err,
                "a quoted field without an end: expected a separator or the end of the line after "
                "its closing quote");
        if (i == index)
            return 1;
        if (*at != csv->separator)
            return 0;
        at++;
    }
}

/* Returns the index of the field called COLUMN in the header, which is the current row; -1 if there
 * is none. */
static int64_t find_name(struct csv *csv, const char *column)
{
    struct csv_text field;
    struct error unused = {0};
    for (size_t i = 0; find_field(csv, i, &field, &unused) > 0; i++)
        if (strlen(column) == field.length && memcmp(column, field.at, field.length) == 0)
            return (int64_t)i;
    return -1;
}

/* Returns whether FIELD is an address rather than a name. "add" could be both. */
static bool is_address(const struct csv_text *field)
{
    uint64_t unused;
    return field->length > 0 && field->at[0] >= '0' && field->at[0] <= '9' &&
           addr2line_parse(field->at, field->length, &unused);
}

/* Returns the index of COLUMN, by its name or its number, in the header, which is the current row;
 * or -1 with ERR filled. Sets the separator: the one with which there is a column of this name,
 * else the first one in the line. Sets NAMED to whether the line is a header. */
static int64_t find_column(struct csv *csv, const char *column, bool *named, struct error *err)
{
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

static void put_text(struct buffer *to, char separator, const char *text)
{
    const char special[] = {separator, '"', '\0'};
    if (strpbrk(text, special) == NULL) {
        addr2line_put_name(to, text);
        return;
    }
    struct buffer visible = {0};
    addr2line_put_name(&visible, text);
    buffer_u8(to, '"');
    for (size_t k = 0; k < visible.size; k++) {
        if (visible.data[k] == '"')
            buffer_u8(to, '"');
        buffer_u8(to, visible.data[k]);
    }
    buffer_u8(to, '"');
    buffer_free(&visible);
}

static bool is_named(const struct code_location *l)
{
    return strcmp(l->frames[0].function, LABEL_UNKNOWN) != 0 &&
           strcmp(l->binary, LABEL_FOREIGN) != 0;
}

static void put_field(struct buffer *to, char separator, const char *text)
{
    buffer_u8(to, (uint8_t)separator);
    put_text(to, separator, text);
}

/* Appends the columns for L, NULL if there is no address. Unknown columns are empty. */
static void put_answer(const struct addr2line *a, const struct code_location *l, char separator,
                       struct buffer *to)
{
    char line[16] = "";
    bool inside = l != NULL && strcmp(l->binary, LABEL_FOREIGN) != 0;
    const struct code_frame *frame = inside ? &l->frames[0] : NULL;
    if (frame != NULL && frame->line > 0)
        snprintf(line, sizeof line, "%" PRIu32, frame->line);
    if (a->has_maps)
        put_field(to, separator, inside ? l->binary : "");
    put_field(to, separator, inside && is_named(l) ? addr2line_function(a, frame) : "");
    put_field(to, separator, inside && frame->file[0] != '\0' ? addr2line_file(a, frame) : "");
    put_field(to, separator, line);
}

/* Returns how many of COUNT numbers are addresses of code. */
static size_t count_named(struct addr2line *a, const uint64_t *numbers, size_t count,
                          struct code_location *found)
{
    size_t named = 0;
    symbolizer_resolve(a->symbolizer, numbers, count, found);
    for (size_t i = 0; i < count; i++)
        named += is_named(&found[i]);
    return named;
}

/* Decides whether numbers without 0x and letters are decimal, unless none is the address of code. */
static void decide_base(struct addr2line *a, struct batch *b, struct code_location *found)
{
    size_t count = 0;
    uint64_t *numbers = mem_alloc((size_t)2 * BATCH * sizeof *numbers);
    for (size_t i = 0; i < b->count; i++)
        if (b->kinds[i] == ROW_DIGITS) {
            numbers[count] = b->addresses[i];
            numbers[BATCH + count++] = b->decimals[i];
        }
    size_t hexadecimal = count_named(a, numbers, count, found);
    size_t decimal = count_named(a, numbers + BATCH, count, found);
    b->is_decided = decimal > 0 || hexadecimal > 0;
    b->is_decimal = decimal > hexadecimal;
    if (b->is_decimal)
        report_warning(
            a->reporter,
            "addresses are read as decimal numbers: of the first %zu, %zu are in the code as "
            "decimal and %zu as hexadecimal numbers",
            count, decimal, hexadecimal);
    free(numbers);
}

/* Chooses the addresses of the rows. */
static void choose_addresses(struct addr2line *a, struct batch *b, struct code_location *found)
{
    if (!b->is_decided)
        decide_base(a, b, found);
    for (size_t i = 0; i < b->count; i++) {
        if (b->kinds[i] == ROW_DIGITS && b->is_decimal)
            b->addresses[i] = b->decimals[i];
        if (b->kinds[i] >= ROW_HEX && a->fill != NULL)
            code_fill_see(a->fill, b->addresses[i]);
    }
}

/* Writes the output if there is enough of it, or IS_END. Returns 0 or -1. */
static int put_out(struct addr2line *a, struct batch *b, bool is_end)
{
    if (!is_end && b->out.size < BATCH_BYTES)
        return 0;
    int result = addr2line_write(a, b->out.data, b->out.size);
    b->out.size = 0;
    return result;
}

static int put_batch(struct addr2line *a, struct batch *b)
{
    struct code_location *found = mem_alloc(BATCH * sizeof *found);
    choose_addresses(a, b, found);
    symbolizer_resolve(a->symbolizer, b->addresses, b->count, found);
    for (size_t i = 0, at = 0; i < b->count; at = b->ends[i++]) {
        buffer_bytes(&b->out, b->text.data + at, b->ends[i] - at);
        if (b->kinds[i] != ROW_COMMENT)
            put_answer(a, b->kinds[i] != ROW_NONE ? &found[i] : NULL, b->separator, &b->out);
        buffer_u8(&b->out, '\n');
    }
    b->count = b->text.size = 0;
    free(found);
    return put_out(a, b, false);
}

/* Returns the kind of the current row with FIELD as its address; sets *ADDRESS and *DECIMAL. */
static enum row_kind read_address(const struct csv *csv, const struct csv_text *field,
                                  uint64_t *address, uint64_t *decimal)
{
    *address = *decimal = 0;
    if (!addr2line_parse(field->at, field->length, address))
        return csv->text[0] == '#' ? ROW_COMMENT : ROW_NONE;
    for (size_t i = 0; i < field->length; i++) {
        uint64_t digit = (uint64_t)(field->at[i] - '0');
        if (digit > 9)
            return ROW_HEX;
        if (__builtin_mul_overflow(*decimal, 10, decimal) ||
            __builtin_add_overflow(*decimal, digit, decimal))
            return ROW_HEX;
    }
    return ROW_DIGITS;
}

/* Extends the current line to its whole row. A comment has a single line and, if it has no address,
 * may contain any quotes. */
static int extend_row(struct csv *csv, size_t column, struct error *err)
{
    const char only[] = {csv->separator, '\0'};
    struct csv_text field = {"", 0};
    struct error unused = {0};
    uint64_t address;
    if (csv->text[0] == '#' && (find_field(csv, column, &field, &unused) <= 0 ||
                                !addr2line_parse(field.at, field.length, &address)))
        return 0;
    return csv_extend(csv, only, err);
}

static int add_row(struct addr2line *a, struct batch *b, struct csv *csv, size_t column,
                   struct error *err)
{
    struct csv_text field = {"", 0};
    uint64_t address, decimal;
    if (extend_row(csv, column, err) != 0)
        return -1;
    if (find_field(csv, column, &field, err) < 0) {
        if (csv->text[0] != '#')
            return -1;
        field = (struct csv_text){"", 0}; /* a comment */
    }
    enum row_kind kind = read_address(csv, &field, &address, &decimal);
    bool has_prefix = field.length > 1 && (field.at[1] | 32) == 'x';
    if (kind == ROW_HEX && !has_prefix)
        b->is_decided = true; /* hexadecimal, unless already decided */
    buffer_bytes(&b->text, csv->text, csv->length);
    b->kinds[b->count] = kind;
    a->strange += kind == ROW_NONE;
    b->addresses[b->count] = address + a->base;
    b->decimals[b->count] = decimal + a->base;
    b->ends[b->count++] = b->text.size;
    return b->count == BATCH || b->text.size > BATCH_BYTES ? put_batch(a, b) : 0;
}

/* Adds a row for each of COUNT addresses that no other row has, with COLUMNS fields and the address
 * in COLUMN. */
static int put_filled(struct addr2line *a, struct batch *b, size_t count, size_t column,
                      size_t columns)
{
    struct buffer *out = &b->out;
    struct code_location *found = mem_alloc(BATCH * sizeof *found);
    symbolizer_resolve(a->symbolizer, b->addresses, count, found);
    for (size_t i = 0; i < count; i++) {
        char address[24];
        snprintf(address, sizeof address, "0x%" PRIx64, b->addresses[i]);
        for (size_t k = 0; k < columns; k++) {
            if (k > 0)
                buffer_u8(out, (uint8_t)b->separator);
            put_text(out, b->separator, k == column ? address : a->fill_text);
        }
        put_answer(a, &found[i], b->separator, out);
        buffer_u8(out, '\n');
    }
    free(found);
    return put_out(a, b, false);
}

static int fill(struct addr2line *a, struct batch *b, size_t column, size_t columns)
{
    int result = 0;
    for (size_t n; result == 0 && (n = code_fill_next(a->fill, b->addresses, BATCH)) > 0;)
        result = put_filled(a, b, n, column, columns);
    return result;
}

/* Copies the comments, and the header with the names of the new columns. If there is no header,
 * NAMED is false and the current row is the first one. Returns the index of COLUMN, or -1 with ERR
 * filled. */
static int64_t copy_header(struct addr2line *a, struct csv *csv, const char *column,
                           struct buffer *out, bool *named, struct error *err)
{
    int got;
    while ((got = csv_next(csv, err)) > 0 && csv->text[0] == '#') {
        buffer_bytes(out, csv->text, csv->length);
        buffer_u8(out, '\n');
        if (out->size >= BATCH_BYTES && addr2line_write(a, out->data, out->size) != 0)
            return -1;
        out->size = out->size < BATCH_BYTES ? out->size : 0;
    }
    if (got == 0)
        return stream_fail_empty(csv->stream, "a CSV file with a line of names", err);
    if (got < 0 || csv_extend(csv, separators, err) != 0)
        return -1;
    int64_t index = find_column(csv, column, named, err);
    if (index < 0 || !*named)
        return index;
    static const char *const added[] = {"binary", "function", "file", "line"};
    buffer_bytes(out, csv->text, csv->length);
    for (size_t i = a->has_maps ? 0 : 1; i < sizeof added / sizeof added[0]; i++)
        put_field(out, csv->separator, added[i]);
    buffer_u8(out, '\n');
    return index;
}

/* Counts the fields of the current row. */
static size_t count_fields(struct csv *csv)
{
    struct csv_text field;
    struct error unused = {0};
    size_t count = 0;
    while (find_field(csv, count, &field, &unused) > 0)
        count++;
    return count;
}

static int copy_rows(struct addr2line *a, struct csv *csv, struct batch *batch, const char *column,
                     struct error *err)
{
    bool named = true;
    int64_t index = copy_header(a, csv, column, &batch->out, &named, err);
    if (index < 0)
        return -1;
    size_t columns = a->fill != NULL ? count_fields(csv) : 0;
    int got = 0, result = 0;
    batch->separator = csv->separator;
    if (!named)
        result = add_row(a, batch, csv, (size_t)index, err);
    while (result == 0 && (got = csv_next(csv, err)) > 0)
        result = add_row(a, batch, csv, (size_t)index, err);
    if (got < 0 || result != 0)
        return -1;
    result = put_batch(a, batch);
    if (result == 0 && a->fill != NULL)
        result = fill(a, batch, (size_t)index, columns);
    return result == 0 ? put_out(a, batch, true) : result;
}

static int copy(struct addr2line *a, struct csv *csv, const char *column, struct error *err)
{
    struct batch *batch = mem_zalloc(1, sizeof *batch);
    int result = copy_rows(a, csv, batch, column, err);
    buffer_free(&batch->text);
    buffer_free(&batch->out);
    free(batch);
    return result;
}

int addr2line_csv(struct addr2line *a, const char *path, const char *column, struct error *err)
{
    struct stream *in = stream_open(path, err);
    struct csv csv = {.stream = in, .longest = MAX_ROW, .separator = ','};
    int result = in != NULL ? copy(a, &csv, column, err) : -1;
    csv_free(&csv);
    stream_close(in);
    return result;
}
