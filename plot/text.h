/* Fits names and numbers to pictures: shortened to a width, with SI prefixes.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_TEXT_H
#define PLOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "plot/glyphs.h"

/* Returns the width of TEXT (valid UTF-8) in DejaVu Sans [em] or, with CELLS, on a terminal
 * [cells]. */
double text_width(const char *text, bool cells);

/* Returns a copy of NAME that is valid in a picture. Control characters, characters that are
 * forbidden in XML or invisible, and stray bytes become \xNN; characters that are not in GLYPHS
 * (NULL: all are) become \uNNNN. Caller frees. */
char *text_visible(const char *name, struct glyphs *glyphs);

/* The same, shortened in the middle to WIDTH (units of text_width). Caller frees. */
char *text_fit(const char *text, double width, bool cells, struct glyphs *glyphs);

/* The same for the name of a row: first removes arguments of templates and functions as needed, but
 * keeps the side in brackets at its end. */
char *text_fit_name(const char *name, double width, bool cells, struct glyphs *glyphs);

/* The format of numbers up to a given one: value / factor, with prefix and unit. */
struct scale {
    double factor;
    char unit[64]; /* "mJ"; "" for plain numbers */
};

/* Returns the scale for numbers up to LARGEST. Adds SI prefixes only to units that have them, and
 * never "ks". */
struct scale scale_for(double largest, const char *unit);

/* Returns the end of a scale for values of code up to CODE, and other values up to REST: CODE if it
 * would be too small to see beside REST, else the larger one. */
double scale_end(double code, double rest);

/* Returns VALUE with three digits, such as "12.3 mJ". Caller frees. */
char *text_value(double value, const char *unit);

#endif
