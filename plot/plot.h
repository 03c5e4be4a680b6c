/* Kinds of plots: one file each and a line in plot.c's table. A kind reads its profiles and either
 * adds to a gnuplot script or writes the picture itself.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_PLOT_H
#define PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/aggregate/report_rows.h"
#include "plot/gnuplot.h"

struct plot_mark {
    double at; /* [s] */
    const char *text;
};

struct plot_options {
    const char **inputs; /* PBINs; none: stdin */
    size_t input_count;
    const char **bases, **withs; /* of comparisons */
    size_t base_count, with_count;
    enum row_metric metric;
    bool metric_given;
    int keys[PBIN_MAX_KEYS]; /* numbers for pbin_key_get */
    size_t key_count;        /* 0: what the kind likes best */
    size_t top;              /* 0: as many as fit */
    const char *title;       /* NULL: made up */
    bool height_given;
    double start, end; /* [s]; NaN: from the beginning, to the end */
    struct plot_mark *marks;
    size_t mark_count;
    bool relative; /* comparisons in % */
    bool salvage;
};

/* What is drawn and what with. */
struct plot {
    const struct plot_options *options;
    struct reporter *reporter;
    struct script script;
    struct output *data;   /* --script: where the table goes as CSV; NULL: nowhere */
    struct buffer picture; /* of kinds that draw themselves */
};

struct plot_kind {
    const char *name, *help;
    bool draws_svg; /* fills plot->picture with SVG; the others add to plot->script */
    bool compares;  /* takes --base and --with */
    bool over_time; /* takes --start and --end */
    /* Returns 0, or -1 with ERR filled. */
    int (*draw)(struct plot *plot, struct error *err);
};

extern const struct plot_kind plot_bars, plot_timeline, plot_compare, plot_dumbbell, plot_box,
    plot_violin, plot_cumulative, plot_heatmap, plot_scatter, plot_flame;

/* The kinds by number, NULL past the last; by name, NULL for none of them. */
const struct plot_kind *plot_kind_get(size_t number);
const struct plot_kind *plot_kind_find(const char *name);

#endif
