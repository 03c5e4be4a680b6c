/* Removes the padding of gnuplot from text pictures: blanks at the ends of lines, blank lines at the end, a
 * form feed at the beginning, and the fillers after characters that are two columns wide.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_TEXT_FILTER_H
#define PLOT_TEXT_FILTER_H

#include "base/buffer.h"
#include "base/output.h"

/* The filler: gnuplot counts one column for each character. No text contains this character:
 * control characters have been made visible. */
#define TEXT_FILLER '\x7f'

struct text_filter {
    struct output *out; /* borrowed; all zero except for this to begin */
    struct buffer line; /* the line so far */
    size_t seen;        /* its size up to the end of the last visible character */
    size_t blank;       /* number of blank lines held back */
    bool escape, any;   /* inside an escape sequence; LINE contains one */
};

/* Writes the lines that are completed by SIZE bytes of DATA. Returns 0, or -1 with the error of the output filled. */
int text_filter_put(struct text_filter *filter, const char *data, size_t size);

/* Discards lines that are held back; does not close the output. */
void text_filter_free(struct text_filter *filter);

#endif
