/* Turns a plot into a picture in a file.
 * SPDX-License-Identifier: MIT */
#include "plot/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/name_list.h"
#include "plot/frame.h"
#include "plot/page.h"
#include "plot/sixel.h"

static const char *const formats[] = {
    [PICTURE_SVG] = "svg", [PICTURE_PNG] = "png",     [PICTURE_PDF] = "pdf",
    [PICTURE_TXT] = "txt", [PICTURE_SIXEL] = "sixel", [PICTURE_HTML] = "html",
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

int picture_find(const char *name)
{
    return name_find(formats, FORMATS, name);
}

static enum picture terminal_picture(const struct picture_request *r)
{
    if (!isatty(STDOUT_FILENO))
        return PICTURE_SVG;
    return r->color && sixel_shown() ? PICTURE_SIXEL : PICTURE_TXT;
}

/* Chooses the requested format, else the format of the suffix, else one that the terminal supports,
 * or SVG if stdout is not a terminal. Returns 0, or -1 with ERR filled. */
static int choose_picture(const struct picture_request *r, enum picture *picture, struct error *err)
{
    const char *slash = r->output != NULL ? strrchr(r->output, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : r->output;
    *picture = PICTURE_SVG;
    if (r->format != NULL) {
        *picture = (enum picture)picture_find(r->format);
        return 0;
    }
    if (r->output == NULL) {
        *picture = terminal_picture(r);
        return 0;
    }
    for (size_t i = 0; i < FORMATS; i++) {
        char *suffix = mem_printf(".%s", formats[i]);
        bool fits = path_has_suffix(r->output, suffix);
        free(suffix);
        if (fits) {
            *picture = (enum picture)i;
            return 0;
        }
    }
    if (name != NULL && strchr(name, '.') != NULL)
        return error_set_usage(
            err, r->output,
            "unknown suffix, expected .svg, .png, .pdf, .txt, .sixel or .html (or use --format)");
    return 0;
}

/* Fits a picture to the terminal. Text fills it except for the line of the prompt. Other pictures
 * keep their proportions, fill at most its width, and leave two lines. Not all terminals report
 * their size in pixels. */
static void fit_terminal(const struct picture_request *r, enum picture picture, double *width,
                         double *height)
{
    struct winsize t = {0};
    if (r->output != NULL || ioctl(STDOUT_FILENO, TIOCGWINSZ, &t) != 0)
        return;
    if (picture == PICTURE_TXT && t.ws_col >= 40 && t.ws_row >= 10) {
        *width = t.ws_col;
        *height = t.ws_row - 1;
    }
    if (picture == PICTURE_SIXEL && t.ws_xpixel >= 200 && t.ws_ypixel >= 150 && t.ws_row >= 10) {
        *width = fmin(*width, t.ws_xpixel);
        *height = fmin(*height, floor((double)t.ws_ypixel * (t.ws_row - 2) / t.ws_row));
    }
}

static void choose_size(const struct picture_request *r, struct script *s)
{
    bool text = s->picture == PICTURE_TXT;
    double width = text ? 100 : 900, height = text ? 30 : 560;
    fit_terminal(r, s->picture, &width, &height);
    s->width = r->width > 0 ? (double)r->width : width;
    s->height = r->height > 0 ? (double)r->height : height;
    s->em = text ? 1 : fmin(18, fmax(10, 12 * sqrt(s->width / 900)));
}

/* Returns whether the kind has drawn the picture itself, without gnuplot. */
static bool is_own_svg(const struct plot_kind *kind, const struct plot *plot)
{
    return kind->draws_svg && plot->script.picture == PICTURE_SVG && plot->picture.size > 0;
}

static int check_output(const struct picture_request *r, enum picture picture, struct error *err)
{
    if (picture == PICTURE_HTML && !r->kind->draws_page)
        return error_set_usage(err, r->output, "%s cannot be drawn as html, only %s can",
                               r->kind->name, "bars, compare, timeline, heatmap, flame and hist");
    if (picture == PICTURE_HTML && r->script)
        return error_set_usage(err, r->output,
                               "html is not drawn by gnuplot: --script has nothing to write");
    if (r->kind->draws_svg && r->script)
        return error_set_usage(err, r->output, "%s has no table: --script has nothing to write",
                               r->kind->name);
    return 0;
}

static int write_picture(const struct picture_request *r, struct plot *plot, struct error *err)
{
    bool binary = plot->script.picture == PICTURE_PNG || plot->script.picture == PICTURE_PDF;
    struct output *out = output_open(r->output, binary ? OUTPUT_BINARY : 0, err);
    if (out == NULL)
        return -1;
    int result = 0;
    if (plot->script.picture == PICTURE_HTML)
        page_write(plot, out);
    else
        result = is_own_svg(r->kind, plot)
                     ? output_write(out, plot->picture.data, plot->picture.size)
                     : script_run(&plot->script, out, plot->reporter, err);
    if (result == 0)
        return output_commit(out);
    output_discard(out);
    return -1;
}

static int write_script(const struct picture_request *r, const struct plot *plot, struct error *err)
{
    char *path = mem_printf("%s.gp", r->output);
    struct output *out = output_open(path, 0, err);
    int result = -1;
    if (out != NULL) {
        output_printf(out, "# made by pbin-plot %s; to draw it: gnuplot THIS-FILE > PICTURE.%s\n",
                      r->kind->name, formats[plot->script.picture]);
        output_write(out, plot->script.text.data, plot->script.text.size);
        result = output_commit(out);
    }
    free(path);
    return result;
}

/* Draws the frame of an empty picture, with the text of ERR. */
static void draw_nothing(struct plot *plot, const struct error *err)
{
    static const char title[] = "Nothing is selected";
    const char *colon = strstr(err->text, ": "), *why = colon != NULL ? colon + 2 : err->text;
    plot->script.text.size = plot->picture.size = 0;
    if (plot->script.picture == PICTURE_HTML) {
        page_begin(plot, "nothing", title, why);
        return;
    }
    struct frame frame = frame_begin(plot, title, why);
    frame_margins(plot, &frame);
    script_add(&plot->script,
               "unset grid\nunset border\nunset tics\nset xrange [0:1]\nset yrange [0:1]\n"
               "plot NaN notitle\n");
}

/* Checks the height, which only --top can make too large: --height has a limit. Returns 0, or -1
 * with ERR filled. */
static int check_height(const struct picture_request *r, const struct script *s, struct error *err)
{
    enum { MAX_PIXELS = 32767 /* the limit of cairo [px] */ };
    if (s->picture != PICTURE_PNG || s->height <= MAX_PIXELS)
        return 0;
    return error_set(err, r->output, NO_OFFSET,
                     "the picture is too high for PNG: %.0f pixels, but at most %d (reduce --top, "
                     "give --height, or draw svg or pdf)",
                     s->height, MAX_PIXELS);
}

/* Draws the plot; an empty selection is drawn as such, with a warning. */
static int draw(const struct picture_request *r, struct plot *plot, struct error *err)
{
    int result = r->kind->draw(plot, err);
    if (result == 0)
        return check_height(r, &plot->script, err);
    if (!err->is_nothing)
        return result;
    report_warning(plot->reporter, "%s%s%s", err->file, err->file[0] != '\0' ? ": " : "",
                   err->text);
    draw_nothing(plot, err);
    *err = (struct error){0};
    return 0;
}

/* Runs gnuplot, and only then commits the files beside the picture. */
int picture_make(const struct picture_request *r, struct plot *plot, struct error *err)
{
    if (choose_picture(r, &plot->script.picture, err) != 0)
        return -1;
    plot->script.theme = r->theme;
    if (plot->script.picture == PICTURE_PNG || plot->script.picture == PICTURE_PDF)
        plot->script.glyphs = glyphs_new();
    plot->script.color = plot->script.picture == PICTURE_TXT && r->color;
    choose_size(r, &plot->script);
    if (check_output(r, plot->script.picture, err) != 0)
        return -1;
    char *path = r->script ? mem_printf("%s.csv", r->output) : NULL;
    if (path != NULL)
        plot->data = output_open(path, 0, err);
    free(path);
    if (r->script && plot->data == NULL)
        return -1;
    if (draw(r, plot, err) != 0 || write_picture(r, plot, err) != 0 ||
        (r->script && write_script(r, plot, err) != 0)) {
        output_discard(plot->data);
        return -1;
    }
    return plot->data != NULL ? output_commit(plot->data) : 0;
}
