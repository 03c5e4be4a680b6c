/* Finds out which characters the installed fonts have.
 *
 * For a character that no font has, Pango draws a box with its number. gnuplot makes Pango draw at
 * many times the size, and this box is not scaled back: it covers the picture. Such characters must
 * not reach the terminals pngcairo and pdfcairo.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_GLYPHS_H
#define PLOT_GLYPHS_H

#include <stdbool.h>
#include <stdint.h>

struct glyphs;

/* The fonts are looked up when the first character needs it. Release with glyphs_delete. */
struct glyphs *glyphs_new(void);
void glyphs_delete(struct glyphs *glyphs);

/* Returns whether a font has the character CODE; always true if GLYPHS is NULL, or if there is no
 * fontconfig, without which gnuplot cannot use Pango, either. */
bool glyphs_have(struct glyphs *glyphs, uint32_t code);

#endif
