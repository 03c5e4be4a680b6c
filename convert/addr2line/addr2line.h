/* The output of pbin-addr2line: the function, source file and line of addresses of a file.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_ADDR2LINE_ADDR2LINE_H
#define CONVERT_ADDR2LINE_ADDR2LINE_H

#include "base/buffer.h"
#include "base/output.h"
#include "convert/addr2line/code_fill.h"
#include "convert/symbolize/symbolizer.h"

/* The options of addr2line in binutils. */
struct addr2line_format {
    bool functions, inlines, demangle, pretty, addresses, base_names;
};

struct addr2line {
    struct addr2line_format format;
    struct symbolizer *symbolizer;
    uint64_t base; /* added to every address: the address of a section */
    bool is_64;
    struct output *out; /* NULL: standard output, written after each batch for programs that wait */
    struct error *err;  /* of standard output */
    struct reporter *reporter;
    uint64_t strange;       /* lines without an address */
    bool has_maps;          /* addresses of a process: their binary is printed, too */
    struct code_fill *fill; /* adds rows for all instructions; NULL: none */
    const char *fill_text;  /* in the other columns of these rows */
};

/* Parses TEXT, LENGTH hexadecimal digits with or without 0x and without blanks around them. Returns false if it is not
 * an address. */
bool addr2line_parse(const char *text, size_t length, uint64_t *address);

/* Prints COUNT addresses. Returns 0, or -1 with the error of OUT or A->err filled. */
int addr2line_put(struct addr2line *a, const uint64_t *addresses, size_t count);

/* Prints the addresses in the lines of the descriptor FD, as soon as they can be read. Text that is
 * not an address counts as 0, as in binutils. Returns 0, or -1 with ERR, or the error of OUT,
 * filled. */
int addr2line_lines(struct addr2line *a, int fd, struct error *err);

/* Copies the CSV file PATH (NULL: standard input), and adds columns function, file and line
 * (HAS_MAPS: binary before them) of the address in COLUMN: a name in the first line, or a number
 * from 1. The rows of FILL follow. Returns 0, or -1 with ERR, or the error of OUT, filled. */
int addr2line_csv(struct addr2line *a, const char *path, const char *column, struct error *err);

/* Writes SIZE bytes. Returns 0, or -1 with the error of OUT or A->err filled. */
int addr2line_write(struct addr2line *a, const void *data, size_t size);

/* Appends NAME. Control characters, and characters that are invisible or reorder text, become \xNN:
 * a line feed in a name must not look like another answer. */
void addr2line_put_name(struct buffer *to, const char *name);

/* The names of the function and the file of FRAME, formatted according to the options; "??" if unknown. */
const char *addr2line_function(const struct addr2line *a, const struct code_frame *frame);
const char *addr2line_file(const struct addr2line *a, const struct code_frame *frame);

#endif
