/* Colours for light, dark and printed backgrounds that colour-blind readers can distinguish.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_PALETTE_H
#define PLOT_PALETTE_H

#include <stddef.h>

enum { SERIES = 8 };

/* All colours as "#rrggbb". */
struct theme {
    const char *name, *help;
    const char *background;
    const char *text, *faint; /* titles and names; subtitles and axes */
    const char *grid;
    const char *bar;         /* for plots with one colour */
    const char *other;       /* rows without code: _other, _idle */
    const char *more, *less; /* increase and decrease */
    double tint;             /* opacity of colours under text */
    const char *series[SERIES];
    const char *heat; /* gnuplot palette, from low to high */
};

/* The themes by number (the first is the default; NULL after the last), and by name (NULL if there is none). */
const struct theme *theme_get(size_t number);
const struct theme *theme_find(const char *name);

#endif
