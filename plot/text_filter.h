/* Text pictures without what gnuplot fills them up with: blanks at the ends of lines, blank lines
 * at the end, a form feed at the beginning.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_TEXT_FILTER_H
#define PLOT_TEXT_FILTER_H

#include "base/buffer.h"
#include "base/output.h"

struct text_filter {
    struct output *out; /* borrowed; the rest is zero at first */
    struct buffer line; /* the line so far */
    size_t seen;        /* of it up to the last character that shows */
    size_t blank;       /* lines that are held back */
    bool escape, any;   /* inside an escape sequence; LINE holds one */
};

/* Writes what SIZE bytes of DATA complete. Returns 0, or -1 with the output's error filled. */
int text_filter_put(struct text_filter *filter, const char *data, size_t size);

/* What is held back is forgotten; the output stays. */
void text_filter_free(struct text_filter *filter);

#endif
