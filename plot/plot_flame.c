/* flame: binary > function > inlined function > file > line as an icicle, either a self-contained,
 * interactive SVG file or a picture by gnuplot.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elide.h"
#include "base/memory.h"
#include "plot/flame_tree.h"
#include "plot/frame.h"
#include "plot/page.h"

static const double min_part_of_page = 1e-3; /* so that a page is below 1 MB */
static const double min_part =
    1e-4; /* of the total: a smaller node would be invisible even when magnified 10 times */

/* Runs in the browser: a click zooms to a node, and hovering shows its details. The attributes of a
 * node are its beginning and width, as fractions of the whole, and its depth. */
static const char script[] =
    "(function () {\n"
    "  var svg = document.documentElement, info = document.getElementById('info');\n"
    "  var nodes = Array.prototype.slice.call(svg.querySelectorAll('g.node'));\n"
    "  var area = {left: +svg.dataset.left, width: +svg.dataset.width, size: +svg.dataset.size};\n"
    "  function number(node, name) { return +node.getAttribute('data-' + name); }\n"
    "  function label(text, name, width) {\n"
    "    var most = Math.floor((width - 6) / (area.size * 0.62)), c = Array.from(name);\n"
    "    if (c.length <= most) text.textContent = name;\n"
    "    else if (most < 8) text.textContent = '';\n"
    "    else text.textContent = c.slice(0, Math.ceil(most / 2) - 1).join('') + '\\u2026' +\n"
    "      c.slice(c.length - Math.floor(most / 2)).join('');\n"
    "  }\n"
    "  function zoom(to) {\n"
    "    var x0 = number(to, 'x'), w0 = number(to, 'w'), depth = number(to, 'd');\n"
    "    nodes.forEach(function (node) {\n"
    "      var x = (number(node, 'x') - x0) / w0, w = number(node, 'w') / w0, d = number(node, "
    "'d');\n"
    "      var above = d < depth && x <= 1e-9 && x + w >= 1 - 1e-9;\n"
    "      var inside = d >= depth && x >= -1e-9 && x + w <= 1 + 1e-9;\n"
    "      node.style.display = above || inside ? '' : 'none';\n"
    "      if (!above && !inside) return;\n"
    "      if (above) { x = 0; w = 1; }\n"
    "      var rect = node.querySelector('rect'), text = node.querySelector('text');\n"
    "      var left = area.left + x * area.width, width = Math.max(w * area.width - 0.5, 0.3);\n"
    "      rect.setAttribute('x', left.toFixed(2));\n"
    "      rect.setAttribute('width', width.toFixed(2));\n"
    "      text.setAttribute('x', (left + 3).toFixed(2));\n"
    "      node.style.opacity = above ? 0.5 : 1;\n"
    "      label(text, node.getAttribute('data-n'), width);\n"
    "    });\n"
    "  }\n"
    "  nodes.forEach(function (node) {\n"
    "    node.addEventListener('click', function () { zoom(node); });\n"
    "    node.addEventListener('mouseover', function () {\n"
    "      info.textContent = node.querySelector('title').textContent.replace(/\\n/g, '  ');\n"
    "    });\n"
    "    node.addEventListener('mouseout', function () { info.textContent = ''; });\n"
    "  });\n"
    "})();\n";

struct flame {
    struct plot *plot;
    struct flame_tree tree;
    const char *unit, *metric_name;
    double left, width, top, row, size; /* [px] */
    /* colours by depth: of the last node drawn, and of the last visible one */
    const char *last[PBIN_MAX_KEYS + 2], *seen[PBIN_MAX_KEYS + 2];
};

__attribute__((format(printf, 2, 3))) static void put(struct flame *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buffer_vprintf(&f->plot->picture, format, args);
    va_end(args);
}

/* Writes TEXT as XML text or attribute. */
static void put_text(struct flame *f, const char *text)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    char *visible = text_visible(text, NULL);
    for (const char *c = visible; *c != '\0'; c++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
            if (entities[i].c == *c)
                entity = entities[i].entity;
        if (entity != NULL)
            put(f, "%s", entity);
        else
            buffer_u8(&f->plot->picture, (uint8_t)*c);
    }
    free(visible);
}

static void put_head(struct flame *f, const char *title, const char *subtitle)
{
    const struct script *s = &f->plot->script;
    const struct theme *t = s->theme;
    double em = s->em;
    put(f,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
        "%.0f %.0f\" "
        "data-left=\"%.2f\" data-width=\"%.2f\" data-size=\"%.2f\">\n"
        "<title>",
        s->width, s->height, s->width, s->height, f->left, f->width, f->size);
    put_text(f, title);
    put(f,
        "</title>\n<style>\n"
        "text { font-family: 'DejaVu Sans', Verdana, Arial, sans-serif; fill: %s; pointer-events: "
        "none; }\n"
        "g.node { cursor: pointer; } g.node:hover rect { stroke: %s; stroke-width: 1.5; "
        "}\n</style>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n"
        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\">",
        t->text, t->text, t->background, em, 1.8 * em, 1.3 * em);
    char *fit = text_fit(title, (s->width - 2 * em) / (1.3 * em), false, NULL);
    put_text(f, fit);
    free(fit);
    fit = text_fit(subtitle, (s->width - 2 * em) / (0.9 * em), false, NULL);
    put(f, "</text>\n<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" style=\"fill: %s\">", em,
        3.2 * em, 0.9 * em, t->faint);
    put_text(f, fit);
    put(f, "</text>\n");
    free(fit);
}

/* Returns a colour that depends on the name, but differs from those of the nodes above and to the
 * left: nodes are drawn from left to right, each before those below it. */
static const char *color_of(struct flame *f, const struct flame_node *node)
{
    const struct theme *t = f->plot->script.theme;
    const char **last = f->last + node->depth, *above = node->depth > 0 ? last[-1] : NULL;
    const char **seen = f->seen + node->depth;
    uint32_t hash = 2166136261U;
    for (const char *c = node->name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619U;
    if (node->depth == 0 || label_is_no_code(node->name) || strcmp(node->name, LABEL_UNKNOWN) == 0)
        return *last = t->other;
    hash =
        (hash ^ hash >> 15) * 0x2c1b3c6dU; /* for names that differ only in their last character */
    hash = (hash ^ hash >> 12) * 0x297a2d39U;
    size_t i = hash >> 16;
    while (t->series[i % SERIES] == *last || t->series[i % SERIES] == above ||
           t->series[i % SERIES] == *seen)
        i++;
    if (node->width * f->width >= 2 * f->tree.nodes[0].width)
        *seen = t->series[i % SERIES];
    return *last = t->series[i % SERIES];
}

/* Returns NAME fitted to WIDTH [px]: complete, shortened, or empty if too little of it would
 * remain. Caller frees. */
static char *label_of(const struct flame *f, const char *name, double width)
{
    double room = (width - 6) / f->size;
    char *visible = text_visible(name, f->plot->script.glyphs);
    bool shown = room >= 5 || text_width(visible, false) <= room;
    free(visible);
    return shown ? text_fit_name(name, room, false, f->plot->script.glyphs) : mem_strdup("");
}

static void put_node(struct flame *f, const struct flame_node *node)
{
    double total = f->tree.nodes[0].value, share = total > 0 ? node->value / total : 1;
    double whole = f->tree.nodes[0].width, part = whole > 0 ? node->width / whole : 1;
    double begin = whole > 0 ? node->begin / whole : 0;
    double x = f->left + begin * f->width, width = fmax(part * f->width - 0.5, 0.3);
    double y = f->top + (double)node->depth * f->row;
    char *value = text_value(node->value, f->unit), *fit = label_of(f, node->name, width);
    put(f, "<g class=\"node\" data-x=\"%.9g\" data-w=\"%.9g\" data-d=\"%u\" data-n=\"", begin, part,
        node->depth);
    put_text(f, node->name);
    put(f, "\"><title>");
    put_text(f, node->name);
    put(f, "\n%s  %.2f %%  %.0f samples</title>", value, 100 * share, node->samples);
    put(f,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" "
        "fill-opacity=\"%.2f\"/>",
        x, y, width, f->row - 1, color_of(f, node), f->plot->script.theme->tint);
    put(f, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.2f\">", x + 3,
        y + 0.5 * f->row + 0.35 * f->size, f->size);
    put_text(f, fit);
    put(f, "</text></g>\n");
    free(value);
    free(fit);
}

/* Draws a node as a box with its name inside. */
static void put_box(struct flame *f, const struct flame_node *node)
{
    struct script *s = &f->plot->script;
    double whole = f->tree.nodes[0].width, part = whole > 0 ? node->width / whole : 1;
    double x = f->left + (whole > 0 ? node->begin / whole : 0) * f->width;
    double y = f->top + (double)node->depth * f->row, width = fmax(part * f->width - 0.5, 0.3);
    const char *color = color_of(f, node);
    script_add(s,
               "set object rectangle from screen %.6f,%.6f to screen %.6f,%.6f fillcolor rgb '%s' "
               "fillstyle transparent solid %.2f noborder\n",
               x / s->width, 1 - (y + f->row - 1) / s->height, (x + width) / s->width,
               1 - y / s->height, color, s->theme->tint);
    char *fit = label_of(f, node->name, width / HINTING);
    if (fit[0] != '\0')
        frame_text(f->plot, x + 3, y + 0.5 * f->row, ANCHOR_LEFT, s->theme->text, f->size, fit);
    free(fit);
}

/* Draws a node of at least three characters: its name in brackets. */
static void put_cells(struct flame *f, const struct flame_node *node)
{
    double whole = f->tree.nodes[0].width, scale = whole > 0 ? f->width / whole : 0;
    int left = (int)lround(node->begin * scale);
    int room = (int)lround((node->begin + node->width) * scale) - left - 2;
    if (room < 1)
        return;
    char *fit = text_fit_name(node->name, room, true, NULL);
    int padding = room - (int)text_width(fit, true);
    char *text = mem_printf("[%s%*s]", fit, padding > 0 ? padding : 0, "");
    frame_text(f->plot, f->left + left, f->top + (double)node->depth, ANCHOR_LEFT,
               f->plot->script.theme->text, 1, text);
    free(text);
    free(fit);
}

static void put_picture(struct flame *f, const char *title, const char *subtitle)
{
    struct frame frame = frame_begin(f->plot, title, subtitle);
    frame_margins(f->plot, &frame);
    for (size_t i = 0; i < f->tree.count; i++)
        (plot_is_text(f->plot) ? put_cells : put_box)(f, &f->tree.nodes[i]);
    script_add(&f->plot->script, "unset border\nunset tics\nset xrange [0:1]\nset yrange [0:1]\n"
                                 "plot NaN notitle\n");
}

static void put_svg(struct flame *f, const char *title, const char *subtitle)
{
    const struct script *s = &f->plot->script;
    put_head(f, title, subtitle);
    for (size_t i = 0; i < f->tree.count; i++)
        put_node(f, &f->tree.nodes[i]);
    put(f, "<text id=\"info\" x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\"></text>\n", s->em,
        s->height - s->em, 0.95 * s->em);
    put(f, "<script type=\"application/ecmascript\"><![CDATA[\n%s]]></script>\n</svg>\n", script);
}

/* Places the nodes. Makes the picture as high as they need, unless its height was given. */
static void place(struct flame *f)
{
    struct script *s = &f->plot->script;
    bool cells = plot_is_text(f->plot);
    double levels = (double)f->tree.depth + 1;
    f->left = cells ? 0 : s->em;
    f->width = s->width - 2 * f->left;
    f->top = cells ? 3 : 4.2 * s->em;
    f->size = cells ? 1 : 0.95 * s->em;
    f->row = cells ? 1 : 1.75 * s->em;
    double around = f->top + (cells ? 1 : 3 * s->em);
    if (!f->plot->options->height_given)
        s->height = ceil(around + levels * f->row);
    else if (!cells)
        f->row = fmax(4, (s->height - around) / levels);
    f->size = fmin(f->size, cells ? 1 : 0.7 * f->row);
}

/* Shortens NAME, a function or a path, for boxes that are too narrow for it. Caller frees. */
static char *short_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    bool is_path = slash != NULL && slash[1] != '\0' && strpbrk(name, "<(") == NULL;
    return is_path ? mem_strdup(slash + 1) : elide_function(name);
}

static void put_page(struct flame *f, const char *title, const char *subtitle)
{
    struct plot *plot = f->plot;
    page_begin(plot, "flame", title, subtitle);
    page_put_text(plot, "metric", f->unit);
    page_put_open(plot, "nodes", '[');
    for (size_t i = 0; i < f->tree.count; i++) {
        const struct flame_node *n = &f->tree.nodes[i];
        char *shorter = short_name(n->name);
        page_open(plot, '[');
        page_text(plot, n->name);
        page_number(plot, n->depth);
        page_number(plot, n->begin);
        page_number(plot, n->value);
        page_number(plot, n->samples);
        page_number(plot, n->width);
        page_text(plot, shorter);
        page_close(plot, ']');
        free(shorter);
    }
    page_close(plot, ']');
}

/* Caller frees. */
static char *subtitle_of(const struct flame *f, const struct aggregate *a)
{
    const struct flame_tree *t = &f->tree;
    char *text = frame_subtitle_of(f->plot, a), *names = NULL;
    for (size_t i = 0; energy_label(i) != NULL && t->narrowed; i++)
        for (size_t n = 0; n < t->count; n++)
            if (strcmp(t->nodes[n].name, energy_label(i)) == 0) {
                mem_append(&names, "%s%s", names == NULL ? " \xc2\xb7 " : ", ", energy_label(i));
                break;
            }
    if (t->negative > 0)
        mem_append(&text, " \xc2\xb7 not drawn: %zu row%s below 0", t->negative,
                   t->negative == 1 ? "" : "s");
    mem_append(&text, "%s%s", names != NULL ? names : "",
               t->narrowed ? ": narrower than its share" : "");
    free(names);
    return text;
}

/* Returns "energy, 2.09 J: binary, function, inlined". Caller frees. */
static char *title_of(const struct flame *f, const struct pbin_keys *keys)
{
    char *total = text_value(f->tree.nodes[0].value, f->unit);
    char *title = mem_printf("%s, %s", f->metric_name, total);
    for (size_t i = 0; i < keys->count; i++) {
        const char *key = pbin_key_get((size_t)keys->key[i])->name;
        mem_append(&title, "%s %s", i == 0 ? ":" : ",",
                   strcmp(key, "inline") == 0 ? "inlined" : key);
    }
    free(total);
    return title;
}

static void draw(struct flame *f, const struct aggregate *a)
{
    const struct plot_options *o = f->plot->options;
    place(f);
    char *title = title_of(f, aggregate_keys(a));
    char *subtitle = subtitle_of(f, a);
    title[0] = (char)(title[0] >= 'a' && title[0] <= 'z' ? title[0] - 32 : title[0]);
    enum picture picture = f->plot->script.picture;
    (picture == PICTURE_SVG    ? put_svg
     : picture == PICTURE_HTML ? put_page
                               : put_picture)(f, o->title != NULL ? o->title : title, subtitle);
    free(title);
    free(subtitle);
}

/* Returns 0, or -1 with ERR filled if all rows were excluded, by filters of this tool or of the one
 * that made the profile. */
static int check_rows(const struct aggregate *a, struct error *err)
{
    struct ranking ranking;
    ranking_make(&ranking, a, METRIC_TIME, 0);
    int result = ranking_check(&ranking, err);
    ranking_free(&ranking);
    return result;
}

static int draw_flame(struct plot *plot, struct error *err)
{
    const struct plot_options *o = plot->options;
    struct flame f = {.plot = plot};
    struct pbin_keys keys = pbin_keys_of("binary,function,inline,file,line");
    struct aggregate *a =
        ranking_read_keys(plot, o->inputs, o->input_count, o->keys.count > 0 ? NULL : &keys, err);
    enum row_metric metric = METRIC_TIME;
    int result = a == NULL ? -1 : ranking_metric_of(plot, a, &metric, err);
    if (result == 0 && metric == METRIC_POWER)
        result = error_set_usage(err, NULL, "flame draws time, energy or samples, not power");
    if (result == 0) {
        bool page = plot->script.picture == PICTURE_HTML;
        flame_tree_make(&f.tree, a, metric, page ? min_part_of_page : min_part);
        f.unit = ranking_metric_unit(aggregate_quantity(a), metric);
        f.metric_name = ranking_metric_name(aggregate_quantity(a), metric);
        result = check_rows(a, err);
        if (result == 0 && f.tree.negative > 0 && !(f.tree.nodes[0].value > 0))
            result = error_set(err, NULL, NO_OFFSET, "no row has %s above 0", f.metric_name);
        if (result == 0)
            draw(&f, a);
        flame_tree_free(&f.tree);
    }
    aggregate_delete(a);
    return result;
}

const struct plot_kind plot_flame = {
    .name = "flame",
    .help = "binary, function, file and line as an icicle (interactive as SVG)",
    .draws_svg = true,
    .draws_page = true,
    .draw = draw_flame};
