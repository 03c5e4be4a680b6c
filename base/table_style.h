/* The user's choices for tables, which are the same in all tools.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TABLE_STYLE_H
#define BASE_TABLE_STYLE_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: the defaults. */
struct table_style {
    const char *columns; /* names, joined by commas: only these, in this order; NULL: the default */
    bool wide;           /* text: all columns and complete names */
    size_t width;        /* text: characters in a line, 0: no limit */
    /* CSV: */
    bool total;       /* with the row _total */
    bool crlf;        /* lines end with CR LF */
    char delimiter;   /* between fields; 0: a comma */
    const char *none; /* replaces unknown texts; NULL: unchanged */
};

#endif
