/* Names and numbers made fit for a picture: shortened to a width, with SI prefixes.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_TEXT_H
#define PLOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Width of TEXT (valid UTF-8), set in DejaVu Sans [em]; with CELLS in character cells of a
 * terminal. */
double text_width(const char *text, bool cells);

/* NAME as a picture can hold it: control characters and stray bytes as \xNN, and '?' for the two
 * characters that XML forbids. Caller frees. */
char *text_visible(const char *name);

/* The same, shortened in the middle to WIDTH
 * (units of text_width). Caller frees. */
char *text_fit(const char *name, double width, bool cells);

/* How numbers up to some largest one are best written: as value / factor, with prefix and unit. */
struct scale {
    double factor;
    char unit[64]; /* "mJ"; "" for plain numbers */
};

/* Only units that take SI prefixes get them; times never "ks". */
struct scale scale_for(double largest, const char *unit);

/* "12.3 mJ": three digits. Caller frees. */
char *text_value(double value, const char *unit);

#endif
