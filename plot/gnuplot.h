/* Driving gnuplot: a script is put together in memory, run in a process of its own, and what it
 * draws is captured. Names from files get into it as quoted text or as data, never as commands.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_GNUPLOT_H
#define PLOT_GNUPLOT_H

#include "base/buffer.h"
#include "base/output.h"
#include "base/report.h"
#include "plot/palette.h"

enum picture { PICTURE_SVG, PICTURE_PNG, PICTURE_PDF, PICTURE_TXT, PICTURE_SIXEL };

/* A script under construction. */
struct script {
    struct buffer text;
    enum picture picture;
    const struct theme *theme;
    double width, height; /* [px]; of PICTURE_TXT [character cells] */
    double em;            /* size of the usual font, in the same unit */
    bool color;           /* PICTURE_TXT: escape sequences are welcome */
    char marker[24];      /* ends datablocks; not to be guessed by who made the data */
};

void script_free(struct script *script);

/* Terminal, size, font and the theme's colours. PICTURE, theme, width, height, em are set before.
 */
void script_begin(struct script *script);

/* Commands. FORMAT must not bring in text from files. */
void script_add(struct script *script, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* TEXT as a quoted string behind what is there already; control characters become \xNN. */
void script_quote(struct script *script, const char *text);

/* `NAME << marker` and the end of it; rows in between with script_number, script_row_end. */
void script_data(struct script *script, const char *name);
void script_number(struct script *script, double value); /* all its digits; NaN where not finite */
void script_row_end(struct script *script);
/* As a last column that nothing draws: for people who read the script. */
void script_row_end_name(struct script *script, const char *name);
void script_data_end(struct script *script);

/* Runs gnuplot and writes its picture to OUT. Returns 0, or -1 with ERR filled: gnuplot is missing
 * or could not draw. */
int script_run(const struct script *script, struct output *out, const struct reporter *reporter,
               struct error *err);

#endif
