/* Rows of pictures in text: a scale in characters on which values are set.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_CHARACTERS_H
#define PLOT_CHARACTERS_H

#include "plot/frame.h"

struct characters {
    char *cells; /* a row; blank at first and after characters_draw */
    size_t count;
    double low, high; /* values of the first and the last cell */
};

/* For rows of FRAME. characters_free in the end. */
void characters_begin(struct characters *row, const struct frame *frame, double low, double high);
void characters_free(struct characters *row);

/* Sets C from FROM to TO, in either order; at AT. What lies outside is left out. */
void characters_fill(struct characters *row, double from, double to, char c);
void characters_put(struct characters *row, double at, char c);

/* Draws it as row NUMBER of FRAME. */
void characters_draw(struct characters *row, struct plot *plot, const struct frame *frame,
                     size_t number);

#endif
