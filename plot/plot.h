/* Kinds of plots. Each has a file, and a line in the table of plot.c. A kind reads its profiles,
 * and either extends a gnuplot script or writes the picture itself.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_PLOT_H
#define PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/aggregate/report_rows.h"
#include "analyze/attribute/name_rules.h"
#include "analyze/compare/compare_error.h"
#include "plot/gnuplot.h"

struct binary_map;

struct plot_mark {
    double at; /* [s] */
    const char *text;
};

/* Which values of single runs box and violin draw as dots. */
enum points {
    POINTS_AUTO /* all for few runs, outliers for many */,
    POINTS_NONE,
    POINTS_OUTLIERS,
    POINTS_ALL
};

enum order { ORDER_LARGEST, ORDER_ASCENDING, ORDER_DESCENDING };

struct plot_options {
    const char **inputs; /* PBINs; none: stdin */
    size_t input_count;
    const char **bases, **withs; /* of comparisons */
    size_t base_count, with_count;
    const size_t *with_begins;     /* [by side] where it begins in WITHS */
    size_t side_count;             /* without the base */
    const struct binary_map *maps; /* --map-binary */
    size_t map_count;
    enum row_metric metric;
    bool metric_given;
    struct pbin_keys keys; /* none: the default of the kind */
    unsigned given;        /* as in struct attribution_options */
    size_t top;            /* 0: as many as fit */
    const char *title;     /* NULL: generated */
    bool height_given;
    double start, end;  /* [s]; NaN: beginning, end */
    size_t interpolate; /* samples per point over time; 0: automatic */
    bool no_threads;    /* for a timeline: one lane for all threads */
    struct plot_mark *marks;
    size_t mark_count;
    bool relative;    /* comparisons in % */
    bool intervals;   /* bars of a single run have intervals from its number of samples */
    enum order order; /* of box and violin */
    bool counts;      /* hist: heights are numbers of calls */
    const struct selection *selection; /* --filter, --exclude; NULL: none */
    struct name_rules names;
    enum points points;
    bool means, boxes; /* of box and violin */
    bool has_error;    /* box and violin of the errors of rows, between sides */
    enum error_function error;
    bool other_weights;        /* weights of errors are shares of each side, not of the base */
    struct pbin_choice choice; /* how to read each input */
    struct code_names *code;   /* for the keys basic-block, instruction and opcode */
};

/* A plot that is being drawn. */
struct plot {
    const struct plot_options *options;
    struct reporter *reporter;
    struct script script;
    struct output *data;   /* --script: receives the table as CSV; NULL: none */
    struct buffer picture; /* of kinds that draw without gnuplot, or the data of a page */
};

struct plot_kind {
    const char *name, *help;
    bool
        draws_svg; /* fills plot->picture if the format is SVG; otherwise, like other kinds, extends plot->script */
    bool draws_page; /* for PICTURE_HTML, fills plot->picture with plot/page.h */
    bool compares;   /* accepts --base and --with */
    bool over_time;  /* accepts --start and --end, not --filter and --exclude */
    bool calls;      /* draws --metric calls and inclusive */
    bool spreads;    /* accepts --points, --means, --boxes, --asc, --desc and --horizontal */
    /* Returns 0, or -1 with ERR filled. */
    int (*draw)(struct plot *plot, struct error *err);
};

extern const struct plot_kind plot_bars, plot_timeline, plot_compare, plot_dumbbell, plot_box,
    plot_violin, plot_cumulative, plot_heatmap, plot_scatter, plot_flame, plot_hist;

/* The kinds by number (NULL after the last), and by name (NULL if unknown). */
const struct plot_kind *plot_kind_get(size_t number);
const struct plot_kind *plot_kind_find(const char *name);

#endif
