/* Drives gnuplot: builds a script in memory, runs it in a separate process and captures the picture.
 * Names from files become quoted text or data, never commands.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_GNUPLOT_H
#define PLOT_GNUPLOT_H

#include "base/buffer.h"
#include "base/output.h"
#include "base/report.h"
#include "plot/glyphs.h"
#include "plot/palette.h"

enum picture {
    PICTURE_SVG,
    PICTURE_PNG,
    PICTURE_PDF,
    PICTURE_TXT,
    PICTURE_SIXEL,
    PICTURE_HTML /* not by gnuplot */
};

/* A script under construction. */
struct script {
    struct buffer text;
    enum picture picture;
    const struct theme *theme;
    double width, height;  /* [px]; for PICTURE_TXT [character cells] */
    double em;             /* size of the default font, in the same unit */
    struct glyphs *glyphs; /* owned; those of the fonts for PICTURE_PNG and _PDF, else NULL */
    bool color;            /* PICTURE_TXT: escape sequences are allowed */
    char marker[24];       /* ends datablocks; random, so that no data can contain it */
};

void script_free(struct script *script);

/* Writes terminal, size, font and colours. PICTURE, theme, width, height and em must have been
 * set. */
void script_begin(struct script *script);

/* Adds commands. The arguments must not contain text from files. */
void script_add(struct script *script, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends TEXT as a quoted string; control characters become \xNN, and characters without a glyph \uNNNN. */
void script_quote(struct script *script, const char *text);

/* Writes `NAME << marker`; script_data_end ends the data. Add rows in between with script_number
 * and script_row_end. */
void script_data(struct script *script, const char *name);
void script_number(struct script *script, double value); /* all digits; NaN if not finite */
void script_row_end(struct script *script);
/* Ends a row with a column that is not drawn, for people who read the script. */
void script_row_end_name(struct script *script, const char *name);
void script_data_end(struct script *script);

/* Runs gnuplot and writes its picture to OUT. Returns 0, or -1 with ERR filled if gnuplot is
 * missing or failed. */
int script_run(const struct script *script, struct output *out, const struct reporter *reporter,
               struct error *err);

#endif
