/* Lines and fields of a CSV file, one line or row in memory at a time.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_STHEM_STHEM_CSV_H
#define FORMATS_STHEM_STHEM_CSV_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/stream.h"

/* To begin, set STREAM and LONGEST and zero the rest; csv_free releases the memory. */
struct csv {
    bool comments;         /* skip lines that begin with '#' */
    struct stream *stream; /* borrowed */
    size_t longest;        /* longest line allowed [bytes] */
    char separator;        /* set by the caller before csv_field */
    uint64_t line;         /* number of the current line, from 1 */
    const char *text; /* the current line, borrowed until csv_next; a line end or NUL follows it */
    size_t length;    /* without its end */
    bool open_end;    /* the last line, without a line end */
    size_t taken;     /* size of the line in the stream [bytes] */
    uint64_t more;    /* number of lines of the current row after the first */
    struct buffer copy;     /* a line without a line end */
    struct buffer unquoted; /* fields of the line without their quotes */
};

void csv_free(struct csv *csv);

/* Advances to the next line that is not blank, without a byte order mark. Returns 1, 0 at the end, -1 on an error. */
int csv_next(struct csv *csv, struct error *err);

/* Extends the current line to the whole row: quoted fields may contain line breaks (RFC 4180).
 * Fields are separated by any of the characters SEPARATORS. LINE stays the number of its first
 * line. Returns 0; or -1 with ERR filled if a quoted field has no end before the end of the file,
 * or the row is longer than LONGEST. */
int csv_extend(struct csv *csv, const char *separators, struct error *err);

struct csv_text {
    const char *at;
    size_t length;
};

/* Sets *FIELD to the field of the current line that begins at AT, without its quotes; borrowed until csv_next. Returns
 * the separator or the end of the line after it, or NULL if a quoted field has no proper end. */
const char *csv_field(struct csv *csv, const char *at, struct csv_text *field);

/* Fills ERR with line, COLUMN (from 1) and the message. Returns -1. */
int csv_error(const struct csv *csv, size_t column, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
