/* Builds a gnuplot script.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "plot/gnuplot.h"
#include "plot/text.h"
#include "plot/text_filter.h"

void script_free(struct script *s)
{
    buffer_free(&s->text);
    glyphs_delete(s->glyphs);
}

void script_add(struct script *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buffer_vprintf(&s->text, format, args);
    va_end(args);
}

/* In single quotes, gnuplot reads everything literally except for the quote itself; in double
 * quotes, it would execute text between backticks. Doubling quotes does not help, because gnuplot
 * 5.4 mistakes two doubled quotes in a row for the end of the text. Quotes are therefore appended
 * with the concatenation operator: 'it'."\047".'s' */
void script_quote(struct script *s, const char *text)
{
    char *visible = text_visible(text, s->glyphs);
    buffer_u8(&s->text, '\'');
    for (const char *c = visible; *c != '\0'; c++) {
        if (*c != '\'') {
            size_t length = utf8_length(c); /* visible texts are valid */
            buffer_bytes(&s->text, c, length);
            if (s->picture == PICTURE_TXT && utf8_columns(c, length) > 1)
                buffer_u8(&s->text, TEXT_FILLER);
            c += length - 1;
            continue;
        }
        script_add(s, "'.\"");
        for (; *c == '\''; c++)
            script_add(s, "\\047");
        script_add(s, "\".'");
        c--;
    }
    buffer_u8(&s->text, '\'');
    free(visible);
}

/* Font sizes: SVG uses pixels; the cairo terminals use points at 96 dpi. */
static void put_terminal(struct script *s)
{
    static const char *const names[] = {
        [PICTURE_SVG] = "svg noenhanced",
        [PICTURE_PNG] = "pngcairo noenhanced",
        [PICTURE_PDF] = "pdfcairo noenhanced",
        [PICTURE_SIXEL] = "sixelgd noenhanced truecolor" /* without truecolor, 16 colours */};
    int w = (int)s->width, h = (int)s->height;
    double line = fmax(1, s->em / 12); /* lines and dots scale with text */
    script_add(s, "set encoding utf8\ndot = %.3g\n", line);
    if (s->picture == PICTURE_TXT)
        script_add(s, "set terminal dumb noenhanced size %d,%d aspect 1 %s\n", w, h,
                   s->color ? "ansi256" : "mono");
    if (s->picture == PICTURE_TXT || s->picture == PICTURE_HTML)
        return;
    script_add(s, "set terminal %s linewidth %.3g size ", names[s->picture], line);
    if (s->picture == PICTURE_PDF)
        script_add(s, "%.4fin,%.4fin", s->width / 96, s->height / 96);
    else
        script_add(s, "%d,%d", w, h);
    script_add(s, " font 'DejaVu Sans,%g' background '%s'\n",
               s->picture == PICTURE_SVG ? s->em : s->em * 0.75, s->theme->background);
}

void script_begin(struct script *s)
{
    const struct theme *t = s->theme;
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = (uint64_t)(uintptr_t)s;
    snprintf(s->marker, sizeof s->marker, "END_%016llx", (unsigned long long)random);
    put_terminal(s);
    script_add(s, "set datafile separator \"\\t\"\nunset key\nset style fill solid noborder\n");
    if (s->picture == PICTURE_TXT)
        return;
    script_add(s,
               "set border lc rgb '%s'\nset tics textcolor rgb '%s'\n"
               "set xlabel textcolor rgb '%s'\nset ylabel textcolor rgb '%s'\n"
               "set grid lc rgb '%s' lt 1 lw 0.7\n",
               t->faint, t->text, t->faint, t->faint, t->grid);
}

void script_data(struct script *s, const char *name)
{
    script_add(s, "%s << %s\n", name, s->marker);
}

void script_number(struct script *s, double value)
{
    char text[40] = "NaN";
    if (isfinite(value))
        format_real(text, sizeof text, value);
    buffer_bytes(&s->text, text, strlen(text));
    buffer_u8(&s->text, '\t');
}

void script_row_end(struct script *s)
{
    if (s->text.size > 0 && s->text.data[s->text.size - 1] == '\t')
        s->text.size--;
    buffer_u8(&s->text, '\n');
}

void script_row_end_name(struct script *s, const char *name)
{
    char *visible = text_visible(name, NULL);
    buffer_bytes(&s->text, visible, strlen(visible));
    buffer_u8(&s->text, '\n');
    free(visible);
}

void script_data_end(struct script *s)
{
    script_add(s, "%s\n", s->marker);
}
