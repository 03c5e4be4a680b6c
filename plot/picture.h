/* From a kind of plot to a picture in a file: format, size, and the files beside it.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_PICTURE_H
#define PLOT_PICTURE_H

#include "plot/plot.h"

struct picture_request {
    const struct plot_kind *kind;
    const struct theme *theme;
    const char *output;     /* NULL or "-": stdout */
    const char *format;     /* NULL: by the suffix of output */
    uint64_t width, height; /* [px or characters]; 0: default */
    bool color;             /* the terminal may get escape sequences */
    bool script;            /* leave OUTPUT.gp and OUTPUT.csv */
};

/* Number of the format called NAME ("svg", "png", "pdf", "txt", "sixel"), -1 for none. */
int picture_find(const char *name);

/* Draws and writes; files appear complete or not at all. PLOT has its options and reporter. Returns
 * 0, or -1 with ERR filled. */
int picture_make(const struct picture_request *request, struct plot *plot, struct error *err);

#endif
