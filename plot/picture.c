/* From a kind of plot to a picture in a file.
 * SPDX-License-Identifier: MIT */
#include "plot/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"

static const char *const formats[] = {
    [PICTURE_SVG] = "svg", [PICTURE_PNG] = "png", [PICTURE_PDF] = "pdf", [PICTURE_TXT] = "txt"};
enum { FORMATS = sizeof formats / sizeof formats[0] };

int picture_find(const char *name)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(formats[i], name) == 0)
            return i;
    return -1;
}

/* The format that was named, else that of the suffix, else text for terminals and SVG for all
 * others. */
static int choose_picture(const struct picture_request *r, enum picture *picture, struct error *err)
{
    const char *slash = r->output != NULL ? strrchr(r->output, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : r->output;
    bool terminal = r->output == NULL && isatty(STDOUT_FILENO);
    *picture = terminal ? PICTURE_TXT : PICTURE_SVG;
    if (r->format != NULL) {
        *picture = (enum picture)picture_find(r->format);
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
        return error_set(err, r->output, NO_OFFSET,
                         "its suffix is none of .svg, .png, .pdf and .txt (--format names one)");
    return 0;
}

/* Text fills the terminal, all but a line for the prompt. */
static void choose_size(const struct picture_request *r, struct script *s)
{
    struct winsize terminal = {0};
    bool text = s->picture == PICTURE_TXT;
    double width = text ? 100 : 900, height = text ? 30 : 560;
    if (text && r->output == NULL && ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 &&
        terminal.ws_col >= 40 && terminal.ws_row >= 10) {
        width = terminal.ws_col;
        height = terminal.ws_row - 1;
    }
    s->width = r->width > 0 ? (double)r->width : width;
    s->height = r->height > 0 ? (double)r->height : height;
    s->em = text ? 1 : fmin(18, fmax(10, 12 * sqrt(s->width / 900)));
}

static int check_output(const struct picture_request *r, const struct script *s, struct error *err)
{
    if (r->kind->draws_svg && s->picture != PICTURE_SVG)
        return error_set(err, r->output, NO_OFFSET, "%s is drawn as SVG only", r->kind->name);
    if (r->kind->draws_svg && r->script)
        return error_set(err, r->output, NO_OFFSET,
                         "%s needs no gnuplot: there is no script to leave", r->kind->name);
    return 0;
}

static int write_picture(const struct picture_request *r, const struct plot *plot,
                         struct error *err)
{
    bool binary = plot->script.picture == PICTURE_PNG || plot->script.picture == PICTURE_PDF;
    struct output *out = output_open(r->output, binary ? OUTPUT_BINARY : 0, err);
    if (out == NULL)
        return -1;
    int result = r->kind->draws_svg ? output_write(out, plot->picture.data, plot->picture.size)
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
        output_printf(out, "# made by pbin-plot %s; draws with: gnuplot THIS-FILE > PICTURE.%s\n",
                      r->kind->name, formats[plot->script.picture]);
        output_write(out, plot->script.text.data, plot->script.text.size);
        result = output_commit(out);
    }
    free(path);
    return result;
}

/* Runs gnuplot, and only then lets the files beside the picture appear. */
int picture_make(const struct picture_request *r, struct plot *plot, struct error *err)
{
    if (choose_picture(r, &plot->script.picture, err) != 0)
        return -1;
    plot->script.theme = r->theme;
    plot->script.color = plot->script.picture == PICTURE_TXT && r->color;
    choose_size(r, &plot->script);
    if (check_output(r, &plot->script, err) != 0)
        return -1;
    char *path = r->script ? mem_printf("%s.csv", r->output) : NULL;
    if (path != NULL)
        plot->data = output_open(path, 0, err);
    free(path);
    if (r->script && plot->data == NULL)
        return -1;
    if (r->kind->draw(plot, err) != 0 || write_picture(r, plot, err) != 0 ||
        (r->script && write_script(r, plot, err) != 0)) {
        output_discard(plot->data);
        return -1;
    }
    return plot->data != NULL ? output_commit(plot->data) : 0;
}
