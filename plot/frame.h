/* The frame of every plot: title, subtitle, margins, names and axes, placed so that no text is cut off.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_FRAME_H
#define PLOT_FRAME_H

#include "plot/plot.h"
#include "plot/ranking.h"
#include "plot/text.h"

/* Edges of the data area, from the left and the top of the picture [px or cells]. */
struct frame {
    double left, right, top, bottom;
};

/* Small fonts are aligned to whole pixels, and therefore wider than text_width. */
#define HINTING 1.06

enum anchor { ANCHOR_LEFT, ANCHOR_CENTER, ANCHOR_RIGHT };

static inline bool plot_is_text(const struct plot *plot)
{
    return plot->script.picture == PICTURE_TXT;
}

/* Writes the terminal, the title (the user's, if given) and the subtitle, shortened to the width.
 * Returns the edges that leave room for them and for one axis with its title at the bottom. */
struct frame frame_begin(struct plot *plot, const char *title, const char *subtitle);

/* Returns the largest width of a subtitle, in the font size of subtitles [em or cells]. */
double frame_subtitle_room(const struct plot *plot);

/* Returns "file · 2 runs · 1000 Hz · 12345 samples · 2.01 s" for the inputs, of RUNS runs. Caller
 * frees. */
char *frame_subtitle(const struct plot *plot, const struct pbin_meta *meta, size_t runs);
/* The same for AGGREGATE, which was read from the inputs. */
char *frame_subtitle_of(const struct plot *plot, const struct aggregate *aggregate);

/* Sets the margins of gnuplot to FRAME. */
void frame_margins(struct plot *plot, const struct frame *frame);

/* Draws TEXT at X, Y from the left and top of the picture, in a font of SIZE. */
void frame_text(struct plot *plot, double x, double y, enum anchor anchor, const char *color,
                double size, const char *text);

/* Draws TEXT rotated upwards, centred at X, Y: titles of vertical axes. Not in text pictures. */
void frame_text_up(struct plot *plot, double x, double y, const char *text);

/* Returns "name [unit]", or "name" without a unit. Caller frees. */
char *frame_axis_title(const char *name, const char *unit);

/* Returns a step for tics, 1, 2 or 5 times a power of ten, on an axis from 0 to SPAN with length
 * LENGTH, on which each tic needs the length LABEL. */
double frame_step(double span, double length, double label);

/* Draws a filled rectangle; not in text pictures. */
void frame_box(struct plot *plot, double left, double top, double right, double bottom,
               const char *color);

/* Adds a label with TEXT in a font of SIZE [px], except in text pictures. FORMAT places it, and
 * must not contain text from files. */
void frame_label(struct plot *plot, const char *text, double size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The number and size of horizontal rows with names at the left. */
struct rows_layout {
    size_t count;
    double size;       /* of the font for names */
    double height;     /* of a row */
    double name_width; /* maximum width of names [px or cells] */
};

/* Lays out WANTED rows (0: as many as fit, at most AVAILABLE); makes the picture higher if the user
 * did not set its height. Call before frame_begin. */
struct rows_layout frame_rows(struct plot *plot, size_t wanted, size_t available);

/* Draws NAMES from top to bottom (yrange reversed, row i at i), shortened to the layout; moves
 * frame->left to make room. */
void frame_names(struct plot *plot, struct frame *frame, const struct rows_layout *layout,
                 char *const *names, size_t count);

/* Draws a legend of COUNT entries in rows that end at BOTTOM, or only measures it if DRAW is false.
 * Returns its height. */
double frame_legend(struct plot *plot, double bottom, char *const *names, const char *const *colors,
                    size_t count, bool draw);

/* Sets the tics of an x axis of LENGTH from LOW to HIGH: five to ten, with enough digits to
 * distinguish them. */
void frame_xtics(struct plot *plot, double low, double high, double length);

/* Draws the x axis of FRAME from LOW to HIGH in units of SCALE with title NAME, without overlapping labels. */
void frame_xaxis(struct plot *plot, const struct frame *frame, double low, double high,
                 const struct scale *scale, const char *name);

/* Draws two strokes in the background colour at X across the bar of ROW, which is longer than
 * shown. HALF: half of its height [rows]. Not in text pictures. */
void frame_break(struct plot *plot, size_t row, double x, double half);

/* Draws border and grid for rows, whose names replace the vertical axis. */
void frame_row_axes(struct plot *plot);

#endif
