/* Rows of text pictures: scales in characters, on which values are marked.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_CHARACTERS_H
#define PLOT_CHARACTERS_H

#include "plot/frame.h"

struct characters {
    char *cells; /* a row; blank initially and after characters_draw */
    size_t count;
    double low, high; /* values of the first and the last cell */
};

/* Creates a row for FRAME, from LOW to HIGH. Release it with characters_free. */
void characters_begin(struct characters *row, const struct frame *frame, double low, double high);
void characters_free(struct characters *row);

/* Set the character C from FROM to TO, in either order, or at AT. Cells outside the row are ignored. */
void characters_fill(struct characters *row, double from, double to, char c);
void characters_put(struct characters *row, double at, char c);

/* Draws the characters as row number ROW of FRAME, and clears them. */
void characters_draw(struct characters *characters, struct plot *plot, const struct frame *frame,
                     size_t row);

#endif
