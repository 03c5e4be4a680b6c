/* Interactive pages.
 * SPDX-License-Identifier: MIT */
#include "plot/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/table/json.h"
#include "plot/text.h"

enum {
    LABEL = 17 /* drawn part of a name [em] */,
    MAX_NAME_LENGTH = 2000 /* of a name [characters] */,
    MAX_ROWS = 100
};

/* The script and the style of plot/page and plot/vendor, with the hashes that the policy allows; plot/page/embed
 * generates them. */
extern const unsigned char page_script[], page_style[];
extern const size_t page_script_size, page_style_size;
extern const char page_script_hash[], page_style_hash[];

static void separate(struct plot *plot)
{
    const struct buffer *b = &plot->picture;
    if (b->size > 0 && strchr("{[:", b->data[b->size - 1]) == NULL)
        buffer_u8(&plot->picture, ',');
}

void page_text(struct plot *plot, const char *text)
{
    char *fit = text_fit(text, MAX_NAME_LENGTH, true, NULL);
    separate(plot);
    json_add_text(&plot->picture, fit);
    free(fit);
}

void page_number(struct plot *plot, double value)
{
    separate(plot);
    json_add_real(&plot->picture, value);
}

static void put_key(struct plot *plot, const char *key)
{
    page_text(plot, key);
    buffer_u8(&plot->picture, ':');
}

void page_open(struct plot *plot, char bracket)
{
    separate(plot);
    buffer_u8(&plot->picture, (uint8_t)bracket);
}

void page_close(struct plot *plot, char bracket)
{
    buffer_u8(&plot->picture, (uint8_t)bracket);
}

void page_put_open(struct plot *plot, const char *key, char bracket)
{
    put_key(plot, key);
    page_open(plot, bracket);
}

void page_put_text(struct plot *plot, const char *key, const char *text)
{
    put_key(plot, key);
    page_text(plot, text);
}

void page_put_number(struct plot *plot, const char *key, double value)
{
    put_key(plot, key);
    page_number(plot, value);
}

void page_put_name(struct plot *plot, const char *name)
{
    char *label = text_fit_name(name, LABEL, false, NULL);
    page_put_text(plot, "name", name);
    page_put_text(plot, "label", label);
    free(label);
}

void page_begin(struct plot *plot, const char *kind, const char *title, const char *subtitle)
{
    const struct theme *t = plot->script.theme;
    const char *user = plot->options->title;
    page_open(plot, '{');
    page_put_text(plot, "kind", kind);
    page_put_text(plot, "title", user != NULL ? user : title);
    page_put_text(plot, "subtitle", subtitle);
    page_put_open(plot, "theme", '{');
    page_put_text(plot, "background", t->background);
    page_put_text(plot, "text", t->text);
    page_put_text(plot, "faint", t->faint);
    page_put_text(plot, "grid", t->grid);
    page_put_text(plot, "bar", t->bar);
    page_put_text(plot, "other", t->other);
    page_put_text(plot, "heat", t->heat);
    page_put_open(plot, "series", '[');
    for (size_t i = 0; i < SERIES; i++)
        page_text(plot, t->series[i]);
    page_close(plot, ']');
    page_close(plot, '}');
}

size_t page_rows(size_t top, size_t count)
{
    size_t most = top > 0 ? top + 1 : MAX_ROWS;
    return most < count ? most : count;
}

void page_begin_rows(struct plot *plot, size_t bar)
{
    page_put_number(plot, "bar", (double)bar);
    page_put_open(plot, "columns", '[');
}

void page_column(struct plot *plot, const char *name, const char *unit)
{
    page_open(plot, '{');
    page_put_text(plot, "name", name);
    page_put_text(plot, "unit", unit);
    page_close(plot, '}');
}

void page_end_columns(struct plot *plot)
{
    page_close(plot, ']');
    page_put_open(plot, "rows", '[');
}

void page_row(struct plot *plot, const char *name, const char *group, const char *color,
              const double *values, size_t count, double error, const char *note)
{
    page_open(plot, '{');
    page_put_name(plot, name);
    page_put_text(plot, "group", group);
    page_put_text(plot, "color", color);
    page_put_text(plot, "note", note);
    page_put_number(plot, "error", error);
    page_put_open(plot, "values", '[');
    for (size_t i = 0; i < count; i++)
        page_number(plot, values[i]);
    page_close(plot, ']');
    page_close(plot, '}');
}

void page_write(struct plot *plot, struct output *out)
{
    page_close(plot, '}');
    output_printf(out,
                  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<title>pbin-plot</title>\n<style>",
                  page_script_hash, page_style_hash);
    output_write(out, page_style, page_style_size);
    output_printf(out,
                  "</style>\n</head>\n<body>\n<noscript>This page needs JavaScript.</noscript>\n"
                  "<script type=\"application/json\" id=\"data\">");
    output_write(out, plot->picture.data, plot->picture.size);
    output_printf(out, "</script>\n<script>");
    output_write(out, page_script, page_script_size);
    output_printf(out, "</script>\n</body>\n</html>\n");
}
