/* Writes a plot as a picture: format, size, and the files beside it.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_PICTURE_H
#define PLOT_PICTURE_H

#include "plot/plot.h"

struct picture_request {
    const struct plot_kind *kind;
    const struct theme *theme;
    const char *output;   /* NULL or "-": stdout */
    const char *format;   /* NULL: by the suffix of output */
    size_t width, height; /* [px or characters]; 0: default */
    bool color;           /* escape sequences are allowed */
    bool script;          /* also write OUTPUT.gp and OUTPUT.csv */
};

/* Returns the number of the format called NAME ("svg", "png", "pdf", "txt", "sixel", "html"), or
 * -1. */
int picture_find(const char *name);

/* Draws and writes the picture; files appear complete or not at all. PLOT must have its options and
 * reporter. Returns 0, or -1 with ERR filled. */
int picture_make(const struct picture_request *request, struct plot *plot, struct error *err);

#endif
