/* Title, subtitle, margins and names.
 * SPDX-License-Identifier: MIT */
#include "plot/frame.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define SEPARATOR " \xc2\xb7 "

void frame_label(struct plot *plot, const char *text, double size, const char *format, ...)
{
    struct script *s = &plot->script;
    va_list args;
    script_add(s, "set label ");
    script_quote(s, text);
    va_start(args, format);
    buffer_vprintf(&s->text, format, args);
    va_end(args);
    if (s->picture != PICTURE_TXT)
        script_add(s, " font 'DejaVu Sans,%g'", s->picture == PICTURE_SVG ? size : size * 0.75);
    script_add(s, "\n");
}

void frame_text(struct plot *plot, double x, double y, enum anchor anchor, const char *color,
                double size, const char *text)
{
    static const char *const anchors[] = {"left", "center", "right"};
    struct script *s = &plot->script;
    double shift = plot_is_text(plot) ? 0.5 : 0;
    if (plot_is_text(plot) &&
        anchor != ANCHOR_LEFT) { /* gnuplot miscalculates the width of wide characters */
        double width = text_width(text, true);
        x -= anchor == ANCHOR_RIGHT ? width : floor(width / 2);
        anchor = ANCHOR_LEFT;
    }
    bool colored = /* the background of a terminal is unknown */
        !plot_is_text(plot) || (s->color && color != s->theme->text && color != s->theme->faint);
    frame_label(plot, text, size, " at screen %.6f,%.6f %s front%s%s%s", (x + shift) / s->width,
                1 - (y + shift) / s->height, anchors[anchor], colored ? " textcolor rgb '" : "",
                colored ? color : "", colored ? "'" : "");
}

void frame_text_up(struct plot *plot, double x, double y, const char *text)
{
    struct script *s = &plot->script;
    if (!plot_is_text(plot))
        frame_label(plot, text, s->em,
                    " at screen %.6f,%.6f center rotate by 90 front textcolor rgb '%s'",
                    x / s->width, 1 - y / s->height, s->theme->faint);
}

char *frame_axis_title(const char *name, const char *unit)
{
    return unit[0] != '\0' ? mem_printf("%s [%s]", name, unit) : mem_strdup(name);
}

double frame_step(double span, double length, double label)
{
    double least = span * label / length, power = pow(10, floor(log10(least > 0 ? least : 1)));
    double step = least / power;
    return power * (step <= 1 ? 1 : step <= 2 ? 2 : step <= 5 ? 5 : 10);
}

void frame_box(struct plot *plot, double left, double top, double right, double bottom,
               const char *color)
{
    struct script *s = &plot->script;
    if (!plot_is_text(plot))
        script_add(s,
                   "set object rectangle from screen %.6f,%.6f to screen %.6f,%.6f front "
                   "fillcolor rgb '%s' fillstyle solid noborder\n",
                   left / s->width, 1 - bottom / s->height, right / s->width, 1 - top / s->height,
                   color);
}

static void fitted(struct plot *plot, double y, const char *color, double size, const char *text)
{
    bool cells = plot_is_text(plot);
    double indent = cells ? 0 : plot->script.em;
    double room = (plot->script.width - 2 * indent) / size;
    char *fit = text_fit(text, cells ? room : room / HINTING, cells, plot->script.glyphs);
    frame_text(plot, indent, y, ANCHOR_LEFT, color, size, fit);
    free(fit);
}

/* Returns the beginning of part N of TEXT, or NULL. Parts are separated by " · ". */
static char *part_of(char *text, size_t n)
{
    for (; n > 0 && text != NULL; n--) {
        text = strstr(text, SEPARATOR);
        text = text != NULL ? text + strlen(SEPARATOR) : NULL;
    }
    return text;
}

/* Shortens SUBTITLE to WIDTH: drops parts between the first, which names the input, and the last,
 * which explains the picture, and then shortens the first. Caller frees. */
static char *drop_parts(const char *subtitle, double width, bool cells, struct glyphs *glyphs)
{
    char *text = text_visible(subtitle, glyphs), *second, *third; /* paths may contain any bytes */
    while (text_width(text, cells) > width && (second = part_of(text, 1)) != NULL &&
           (third = part_of(second, 1)) != NULL && part_of(third, 1) != NULL)
        memmove(second, third, strlen(third) + 1);
    second = part_of(text, 1);
    if (second == NULL || text_width(text, cells) <= width)
        return text;
    double rest = text_width(second, cells) + text_width(SEPARATOR, cells);
    char *first = mem_printf("%.*s", (int)(second - text - (ptrdiff_t)strlen(SEPARATOR)), text);
    char *whole = text_fit(first, fmax(width - rest, 4), cells, NULL);
    mem_append(&whole, SEPARATOR "%s", second);
    free(first);
    free(text);
    return whole;
}

static double head_height(const struct plot *plot)
{
    return plot_is_text(plot) ? 3 : 4.2 * plot->script.em;
}

static double foot_height(const struct plot *plot)
{
    return plot_is_text(plot) ? 3 : 3.8 * plot->script.em;
}

double frame_subtitle_room(const struct plot *plot)
{
    const struct script *s = &plot->script;
    return plot_is_text(plot) ? s->width : (s->width - 2 * s->em) / (0.9 * s->em * HINTING);
}

struct frame frame_begin(struct plot *plot, const char *title, const char *subtitle)
{
    struct script *s = &plot->script;
    bool cells = plot_is_text(plot);
    if (plot->options->title != NULL)
        title = plot->options->title;
    script_begin(s);
    fitted(plot, cells ? 0 : 1.35 * s->em, s->theme->text, cells ? 1 : 1.3 * s->em, title);
    char *parts = drop_parts(subtitle, frame_subtitle_room(plot), cells, s->glyphs);
    fitted(plot, cells ? 1 : 2.95 * s->em, s->theme->faint, cells ? 1 : 0.9 * s->em, parts);
    free(parts);
    return (struct frame){.left = cells ? 8 : 5 * s->em,
                          .right = s->width - (cells ? 2 : 2 * s->em),
                          .top = head_height(plot),
                          .bottom = s->height - foot_height(plot)};
}

void frame_margins(struct plot *plot, const struct frame *f)
{
    struct script *s = &plot->script;
    script_add(s,
               "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
               "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
               f->left / s->width, f->right / s->width, 1 - f->top / s->height,
               1 - f->bottom / s->height);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Returns whether NAME is the name of the file, with or without its suffix. */
static bool is_stem(const char *file, const char *name)
{
    size_t length = strlen(name);
    return strncmp(file, name, length) == 0 && (file[length] == '\0' || file[length] == '.');
}

char *frame_subtitle(const struct plot *plot, const struct pbin_meta *meta, size_t runs)
{
    size_t count = plot->options->input_count;
    double wall = (double)meta->wall_ns / 1e9 / (double)(runs > 0 ? runs : 1);
    double samples = (double)meta->samples / (double)(runs > 0 ? runs : 1);
    const char *file = count == 0 ? "<stdin>" : base_name(plot->options->inputs[0]);
    char *text = mem_strdup(file);
    if (count > 1)
        mem_append(&text, " and %zu more", count - 1);
    if (meta->name != NULL && meta->name[0] != '\0' && !is_stem(file, meta->name))
        mem_append(&text, SEPARATOR "%s", meta->name);
    if (runs > 1)
        mem_append(&text, SEPARATOR "mean of %zu runs", runs);
    if (samples > 0)
        mem_append(&text, SEPARATOR "%.0f samples%s", samples, runs > 1 ? " each" : "");
    if (wall > 0) {
        char *value = text_value(wall, "s"), *rate = text_value(samples / wall, "Hz");
        mem_append(&text, SEPARATOR "%s", value);
        if (samples > 0)
            mem_append(&text, SEPARATOR "%s", rate);
        free(value);
        free(rate);
    }
    return text;
}

char *frame_subtitle_of(const struct plot *plot, const struct aggregate *aggregate)
{
    return frame_subtitle(plot, aggregate_meta(aggregate), aggregate_run_count(aggregate));
}

struct rows_layout frame_rows(struct plot *plot, size_t wanted, size_t available)
{
    struct script *s = &plot->script;
    bool cells = plot_is_text(plot);
    double least = cells ? 1 : 8, usual = cells ? 1 : 1.5 * s->em;
    double around =
        head_height(plot) + foot_height(plot) + (cells ? 1 : 0); /* keeps rows clear of the axis */
    size_t rows = wanted != 0 && wanted < available ? wanted : available;
    rows = rows == 0 ? 1 : rows;
    if (!plot->options->height_given && rows > 1 && wanted != 0 &&
        around + usual * (double)rows > s->height)
        s->height = ceil(around + usual * (double)rows);
    if (!plot->options->height_given && !cells) /* with few rows, bars would be too thick */
        s->height = fmin(s->height, fmax(14 * s->em, around + 3 * s->em * (double)rows));
    double room = s->height - around;
    double fit = wanted == 0 ? floor(room / usual) : floor(room / least);
    size_t most = fit < 2 ? 2 : (size_t)fit;
    if (wanted != 0 && rows > most)
        report_warning(plot->reporter, "only %zu of %zu rows fit (increase --height)", most, rows);
    rows = rows < most ? rows : most;
    struct rows_layout layout = {.count = rows, .name_width = s->width * 0.4};
    layout.height = room / (double)rows;
    layout.size = cells ? 1 : fmin(s->em, fmax(6, layout.height * 0.8));
    return layout;
}

void frame_names(struct plot *plot, struct frame *frame, const struct rows_layout *layout,
                 char *const *names, size_t count)
{
    struct script *s = &plot->script;
    bool cells = plot_is_text(plot);
    double widest = 0, gap = cells ? 2 : 1.6 * layout->size;
    if (cells)
        frame->bottom = frame->top + (double)count + 1;
    script_add(s, "unset ytics\nset yrange [%g:-0.5]\n", (double)count - 0.5 + (cells ? 1 : 0));
    for (size_t i = 0; i < count; i++) {
        char *fit =
            text_fit_name(names[i], (layout->name_width - gap) / layout->size, cells, s->glyphs);
        double width = text_width(fit, cells) * layout->size;
        widest = width > widest ? width : widest;
        /* not as tics, whose labels are formats and interpret % */
        if (cells) /* as in frame_text */
            frame_label(plot, fit, 1, " at graph 0, first %zu left offset char %g,0", i,
                        -1 - text_width(fit, true));
        else
            frame_label(plot, fit, layout->size,
                        " at graph 0, first %zu right offset char -0.7,0 textcolor rgb '%s'", i,
                        s->theme->text);
        free(fit);
    }
    frame->left = fmin(widest + gap, layout->name_width);
}

double frame_legend(struct plot *plot, double bottom, char *const *names, const char *const *colors,
                    size_t count, bool draw)
{
    struct script *s = &plot->script;
    bool cells = plot_is_text(plot);
    double size = cells ? 1 : 0.92 * s->em, line = cells ? 1 : 1.5 * s->em;
    double left = cells ? 0 : s->em, most = s->width - 2 * left, widest = 0;
    for (size_t i = 0; i < count; i++)
        widest = fmax(widest, (text_width(names[i], cells) + (cells ? 4 : 3)) * size);
    double cell = fmin(fmax(widest, most / 8), count > 1 ? most / 2 : most);
    size_t columns = (size_t)fmax(1, floor(most / cell));
    size_t lines = count == 0 ? 0 : (count + columns - 1) / columns;
    for (size_t i = 0; i < count && draw; i++) {
        double x = left + (double)(i % columns) * cell;
        size_t below = lines - i / columns;
        double y = bottom - ((double)below - 0.5) * line - (cells ? 0.5 : 0);
        char *fit = text_fit_name(names[i], cell / size - (cells ? 4 : 2.6), cells, s->glyphs);
        char key[] = {(char)('A' + i % 26), ' ', '\0'};
        frame_box(plot, x, y - 0.4 * size, x + 0.9 * size, y + 0.4 * size, colors[i]);
        if (cells)
            frame_text(plot, x, y, ANCHOR_LEFT, colors[i], size,
                       strcmp(names[i], LABEL_OTHER) == 0 ? "." : key);
        frame_text(plot, x + (cells ? 2 : 1.4 * size), y, ANCHOR_LEFT, s->theme->text, size, fit);
        free(fit);
    }
    return (double)lines * line;
}

void frame_break(struct plot *plot, size_t row, double x, double half)
{
    for (int i = 0; i < 2; i++)
        script_add(&plot->script,
                   "set arrow from first %.9g,%.9g rto char 0.6, first %.9g nohead front lw 3 lc "
                   "rgb '%s'\n",
                   x * (i == 0 ? 1 : 0.975), (double)row + 1.1 * half, -2.2 * half,
                   plot->script.theme->background);
}

void frame_row_axes(struct plot *plot)
{
    script_add(&plot->script, plot_is_text(plot)
                                  ? "unset grid\nset border 1\n"
                                  : "set grid noytics xtics\nset border 1\nset xtics scale 0.5\n");
}

enum { MIN_DIGITS = 6 /* as %g */ };

/* Returns the digits needed for labels between LOW and HIGH at a distance of STEP, a digit times a
 * power of ten. */
static int label_digits(double low, double high, double step)
{
    enum { MAX_DIGITS = 15 };
    double most = fmax(fabs(low), fabs(high)), rounding = 1e-9;
    if (!(step > 0) || !(most > 0))
        return MIN_DIGITS;
    double digits = 1 + floor(log10(most) + rounding) - floor(log10(step) + rounding);
    return (int)fmin(fmax(digits, MIN_DIGITS), MAX_DIGITS);
}

/* Returns the width of the label at VALUE, including the gap to the next one. */
static double label_room(const struct plot *plot, double value, int digits)
{
    bool cells = plot_is_text(plot);
    char *text = mem_printf("%.*g", digits, value);
    double room = (text_width(text, cells) + (cells ? 2 : 0.5)) * plot->script.em;
    free(text);
    return room;
}

/* Returns the step for five to ten tics, or fewer if their labels would overlap. */
static double tic_step(const struct plot *plot, double low, double high, double length)
{
    double step = frame_step(high - low, length, length / 10);
    int digits = label_digits(low, high, step);
    double room = label_room(plot, step, digits), first = ceil(low / step),
           last = floor(high / step);
    room = fmax(room, label_room(plot, first * step, digits));
    room = fmax(room, label_room(plot, fmin(first + 1, last) * step, digits));
    room = fmax(room, label_room(plot, last * step, digits));
    return frame_step(high - low, length, fmax(room, length / 10));
}

void frame_xtics(struct plot *plot, double low, double high, double length)
{
    enum { MARGIN = 2 /* at the right of frames [em], with room for half of a usual label */ };
    struct script *s = &plot->script;
    double step = tic_step(plot, low, high, length);
    int digits = label_digits(low, high, step);
    double beyond = label_room(plot, floor(high / step) * step, digits) / 2 - MARGIN * s->em;
    double end = digits > MIN_DIGITS && beyond > 0 ? high - beyond / length * (high - low) : high;
    if (end < high)
        script_add(s, "set xtics nomirror %.17g,%.9g,%.17g\n", ceil(low / step) * step, step, end);
    else
        script_add(s, "set xtics nomirror %.9g\n", step);
    script_add(s, "set format x '%%.%dg'\n", digits);
}

void frame_xaxis(struct plot *plot, const struct frame *frame, double low, double high,
                 const struct scale *scale, const char *name)
{
    struct script *s = &plot->script;
    char *title = frame_axis_title(name, scale->unit);
    low /= scale->factor;
    high /= scale->factor;
    script_add(s, "set xrange [%.17g:%.17g]\n", low, high);
    frame_xtics(plot, low, high, frame->right - frame->left);
    script_add(s, "set xlabel ");
    script_quote(s, title);
    script_add(s, " offset 0,0.6 noenhanced\n");
    free(title);
}
