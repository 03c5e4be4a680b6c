/* Interactive pages: one HTML file with the data of a plot, as JSON, and a script that draws them.
 * Profiles cannot insert markup or scripts: names are JSON texts, which the script only sets as
 * text, and a content security policy forbids other scripts and network access.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_PAGE_H
#define PLOT_PAGE_H

#include "plot/plot.h"

/* Begins the data, an object, in plot->picture. KIND selects the plot that the script draws. The
 * user's title, if given, replaces TITLE. */
void page_begin(struct plot *plot, const char *kind, const char *title, const char *subtitle);

/* Append to the data; commas are added. For values in an object, see page_put_*. */
void page_text(struct plot *plot,
               const char *text); /* made visible; shortened from thousands of characters */
void page_number(struct plot *plot, double value); /* null if not finite */
void page_open(struct plot *plot, char bracket);   /* [ or { */
void page_close(struct plot *plot, char bracket);  /* ] or } */

/* Appends KEY: and BRACKET, in an object. */
void page_put_open(struct plot *plot, const char *key, char bracket);

/* Appends "name": NAME, and "label": with the text drawn for it, in an object. */
void page_put_name(struct plot *plot, const char *name);

/* Append KEY: TEXT or KEY: VALUE, in an object. */
void page_put_text(struct plot *plot, const char *key, const char *text);
void page_put_number(struct plot *plot, const char *key, double value);

/* Returns how many of COUNT rows a page shows, including _other, if the user requested TOP (0: the
 * default). Pages can be scrolled. */
size_t page_rows(size_t top, size_t count);

/* Begins a table whose rows are drawn as bars: call page_column for each column of numbers,
 * page_end_columns, then page_row for each row, with a value for each column. BAR is the number of
 * the drawn column. */
void page_begin_rows(struct plot *plot, size_t bar);
void page_column(struct plot *plot, const char *name, const char *unit);
void page_end_columns(struct plot *plot);
/* GROUP is the name of the row in the legend, ERROR half of an interval, NOTE additional text or
 * "". */
void page_row(struct plot *plot, const char *name, const char *group, const char *color,
              const double *values, size_t count, double error, const char *note);

/* Ends the data and writes the page. */
void page_write(struct plot *plot, struct output *out);

#endif
