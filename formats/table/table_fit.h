/* Fits the columns of a text table to the width of a terminal.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TABLE_TABLE_FIT_H
#define FORMATS_TABLE_TABLE_FIT_H

#include <stdbool.h>
#include <stddef.h>

/* A column of a text table. */
struct fit_column {
    bool used;   /* has values; otherwise it is not shown */
    bool shown;  /* is shown separately */
    bool merged; /* is shown after the values of another column */
    bool is_text;
    size_t
        width; /* [columns of a terminal]: of the widest value or the title; after table_fit, the width that it gets */
    size_t least; /* width of the title, and of values that cannot be shortened */
    int decimals;
    double largest;     /* of absolute values */
    unsigned char rank; /* as in struct table_column */
};

/* Makes the COUNT columns of ORDER, two spaces apart, fit in WIDTH columns: leaves out columns by
 * rank until texts have a readable width, and gives texts the remaining width. Removes the columns
 * that it leaves out from ORDER, and returns the number of the remaining ones, which may still be
 * too wide if nothing more can be left out. */
size_t table_fit(struct fit_column *columns, size_t *order, size_t count, size_t width);

#endif
