/* What surrounds every plot: title, subtitle, margins, names and axes, placed so that nothing is
 * cut.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_FRAME_H
#define PLOT_FRAME_H

#include "plot/plot.h"
#include "plot/ranking.h"
#include "plot/text.h"

/* Edges of the area where data is drawn, from the left and the top of the picture [px or cells]. */
struct frame {
    double left, right, top, bottom;
};

/* Small fonts are drawn wider than text_width says, on whole pixels. */
#define HINTING 1.06

enum anchor { ANCHOR_LEFT, ANCHOR_CENTER, ANCHOR_RIGHT };

static inline bool plot_is_text(const struct plot *plot)
{
    return plot->script.picture == PICTURE_TXT;
}

/* Writes the terminal, the title (the user's if there is one) and the subtitle, shortened to the
 * width. Returns the edges that leave room for them and for one axis with its title at the bottom.
 */
struct frame frame_begin(struct plot *plot, const char *title, const char *subtitle);

/* How wide a subtitle may be, in its own size [em or cells]. */
double frame_subtitle_room(const struct plot *plot);

/* "file · 2 runs · 1000 Hz · 12345 samples · 2.01 s" of what was read from PATHS. Caller frees. */
char *frame_subtitle(const struct pbin_meta *meta, size_t runs, const char *const *paths,
                     size_t count);

/* Sets gnuplot's margins to FRAME. */
void frame_margins(struct plot *plot, const struct frame *frame);

/* TEXT at X, Y from the left and top of the picture. SIZE is the font's. */
void frame_text(struct plot *plot, double x, double y, enum anchor anchor, const char *color,
                double size, const char *text);

/* TEXT read upwards, its middle at X, Y: titles of vertical axes. Nothing in text. */
void frame_text_up(struct plot *plot, double x, double y, const char *text);

/* "name [unit]", or "name" where there is no unit. Caller frees. */
char *frame_axis_title(const char *name, const char *unit);

/* A step for tics on an axis from 0 to SPAN that is LENGTH long, LABEL of which each needs: 1, 2 or
 * 5 times a power of ten. */
double frame_step(double span, double length, double label);

/* A filled rectangle of the picture; nothing in text. */
void frame_box(struct plot *plot, double left, double top, double right, double bottom,
               const char *color);

/* `font 'name,size'` for SIZE [px]; nothing in text. */
void frame_font(struct plot *plot, double size);

/* Horizontal rows with names at the left: how many fit, and what each takes. */
struct rows_layout {
    size_t count;
    double size;       /* of the font for names */
    double height;     /* of a row */
    double name_width; /* widest that may be [px or cells] */
};

/* WANTED rows (0: as many as fit, at most AVAILABLE); makes the picture higher when the user left
 * its height open. EXTRA: height that is needed besides the rows, title and axis. Call before
 * frame_begin. */
struct rows_layout frame_rows(struct plot *plot, size_t wanted, size_t available, double extra);

/* NAMES from top to bottom (yrange reversed, row i at i), shortened to the layout; moves
 * frame->left to make room for them. */
void frame_names(struct plot *plot, struct frame *frame, const struct rows_layout *layout,
                 char *const *names, size_t count);

/* A legend of COUNT entries in rows that end at BOTTOM; returns its height. With DRAW false it is
 * only measured. */
double frame_legend(struct plot *plot, double bottom, char *const *names, const char *const *colors,
                    size_t count, bool draw);

/* The x axis of FRAME from LOW to HIGH in units of SCALE with title NAME; its labels keep apart. */
void frame_xaxis(struct plot *plot, const struct frame *frame, double low, double high,
                 const struct scale *scale, const char *name);

/* Border and grid for rows: no vertical axis but their names. */
void frame_row_axes(struct plot *plot);

#endif
