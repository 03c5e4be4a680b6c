/* Colours that eyes of every kind can tell apart, on light, dark and printed ground.
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
    const char *bar;         /* where one colour is enough */
    const char *other;       /* rows that stand for many: _other, _idle */
    const char *more, *less; /* of two directions */
    double tint;             /* opacity of colours that text stands on */
    const char *series[SERIES];
    const char *heat; /* gnuplot palette, from nothing to much */
};

/* The themes by number, NULL past the last (the first is the default); by name, NULL for none. */
const struct theme *theme_get(size_t number);
const struct theme *theme_find(const char *name);

#endif
