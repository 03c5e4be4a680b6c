/* scatter: time against energy of each function, with lines of equal power.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/frame.h"

enum { MAX_NAMES = 25, MAX_TRIED = 40 };

struct point {
    double x, y; /* [px] */
};

struct rectangle {
    double left, top, right, bottom;
};

/* A line from a dot to a name. */
struct leader {
    struct point from, to;
};

/* The place of a name, and whether a line must connect it with its dot. */
struct place {
    struct point at;
    enum anchor anchor;
    struct rectangle area;
    bool far;
};

struct scatter {
    struct plot *plot;
    struct ranking ranking;
    const struct quantity *quantity;
    struct frame frame;
    struct scale time, energy;
    double low_time, high_time, low_energy, high_energy; /* of the logarithmic axes */
    struct rectangle *taken; /* the areas of dots, then of placed names */
    size_t taken_count, dot_count;
    struct leader leaders[MAX_NAMES];
    size_t leader_count;
    double size;    /* of the font */
    size_t dropped; /* number of functions without time or energy, or too small for the axes */
};

static const double DECADES = 1e-4; /* the smallest values on the axes, as a part of the largest */

static bool has_both(const struct ranked_row *row)
{
    return !row->other && row->values.time > 0 && row->values.energy > 0;
}

static bool shows(const struct scatter *s, const struct ranked_row *row)
{
    return has_both(row) && row->values.time >= s->low_time && row->values.energy >= s->low_energy;
}

/* Finds the ranges of the axes: at most four decades below the largest value, as anything smaller
 * is irrelevant. Returns false if there are no values. */
static bool find_ranges(struct scatter *s)
{
    bool any = false;
    s->low_time = s->low_energy = INFINITY;
    for (size_t i = 0; i < s->ranking.count; i++) {
        const struct ranked_row *row = &s->ranking.rows[i];
        if (!has_both(row))
            continue;
        any = true;
        s->low_time = fmin(s->low_time, row->values.time);
        s->low_energy = fmin(s->low_energy, row->values.energy);
        s->high_time = fmax(s->high_time, row->values.time);
        s->high_energy = fmax(s->high_energy, row->values.energy);
    }
    s->low_time = fmax(s->low_time, s->high_time * DECADES) / 2;
    s->low_energy = fmax(s->low_energy, s->high_energy * DECADES) / 2;
    s->high_time *= 3;
    s->high_energy *= 2;
    for (size_t i = 0; i < s->ranking.count; i++)
        s->dropped += !s->ranking.rows[i].other && !shows(s, &s->ranking.rows[i]);
    return any;
}

static struct point place(const struct scatter *s, double time, double energy)
{
    const struct frame *f = &s->frame;
    double x = log(time / s->low_time) / log(s->high_time / s->low_time);
    double y = log(energy / s->low_energy) / log(s->high_energy / s->low_energy);
    return (struct point){f->left + x * (f->right - f->left), f->bottom - y * (f->bottom - f->top)};
}

static bool overlap(const struct rectangle *a, const struct rectangle *b)
{
    return a->left < b->right && a->right > b->left && a->top < b->bottom && a->bottom > b->top;
}

/* Clips the line from FROM to FROM + STEP, in the direction of one axis, to the part between LOW
 * and HIGH. */
static void clip(double from, double step, double low, double high, double *begin, double *end)
{
    if (step == 0) {
        *end = from > low && from < high ? *end : -1;
        return;
    }
    double one = (low - from) / step, other = (high - from) / step;
    *begin = fmax(*begin, fmin(one, other));
    *end = fmin(*end, fmax(one, other));
}

static bool crosses(const struct leader *l, const struct rectangle *r)
{
    double begin = 0, end = 1;
    clip(l->from.x, l->to.x - l->from.x, r->left, r->right, &begin, &end);
    clip(l->from.y, l->to.y - l->from.y, r->top, r->bottom, &begin, &end);
    return begin < end;
}

/* Returns whether R is inside the frame, and clear of dots, names and lines. */
static bool is_free(const struct scatter *s, const struct rectangle *r)
{
    const struct frame *f = &s->frame;
    if (r->left < f->left || r->right > f->right || r->top < f->top || r->bottom > f->bottom)
        return false;
    for (size_t i = 0; i < s->taken_count; i++)
        if (overlap(r, &s->taken[i]))
            return false;
    for (size_t i = 0; i < s->leader_count; i++)
        if (crosses(&s->leaders[i], r))
            return false;
    return true;
}

/* Returns whether AT is to the left of LEADER. */
static bool is_left(const struct leader *l, struct point at)
{
    return (l->to.x - l->from.x) * (at.y - l->from.y) > (l->to.y - l->from.y) * (at.x - l->from.x);
}

/* Returns whether LEADER does not cross other leaders, names, or dots, except its own dot and those
 * on it. */
static bool is_clear(const struct scatter *s, const struct leader *leader)
{
    for (size_t i = 0; i < s->leader_count; i++) {
        const struct leader *l = &s->leaders[i];
        if (is_left(l, leader->from) != is_left(l, leader->to) &&
            is_left(leader, l->from) != is_left(leader, l->to))
            return false;
    }
    for (size_t i = 0; i < s->taken_count; i++) {
        const struct rectangle *t = &s->taken[i];
        double x = (t->left + t->right) / 2 - leader->from.x,
               y = (t->top + t->bottom) / 2 - leader->from.y;
        if (crosses(leader, t) && (i >= s->dot_count || hypot(x, y) > 0.6 * s->size))
            return false;
    }
    return true;
}

/* Draws TEXT on a patch of background, so that no line crosses it. */
static void put_text(struct scatter *s, double x, double y, enum anchor anchor, const char *text)
{
    static const double parts[] = {[ANCHOR_LEFT] = 0, [ANCHOR_CENTER] = 0.5, [ANCHOR_RIGHT] = 1};
    const struct theme *theme = s->plot->script.theme;
    double width = text_width(text, plot_is_text(s->plot)) * s->size, half = 0.6 * s->size;
    double left = x - parts[anchor] * width;
    frame_box(s->plot, left, y - half, left + width, y + half, theme->background);
    frame_text(s->plot, x, y, anchor, theme->text, s->size, text);
}

/* Finds a place for a name of WIDTH at the right, at the left, above or below AT. The name must
 * clearly belong to its dot. */
static bool find_beside(const struct scatter *s, struct point at, double width, struct place *found)
{
    static const enum anchor anchors[] = {ANCHOR_LEFT, ANCHOR_RIGHT, ANCHOR_CENTER, ANCHOR_CENTER};
    double half = 0.65 * s->size, gap = 0.7 * s->size, pad = s->size;
    for (int side = 0; side < 4; side++) {
        double x = side == 0 ? at.x + gap : side == 1 ? at.x - gap : at.x;
        double left = side == 0 ? x : side == 1 ? x - width : x - width / 2;
        double y = side < 2 ? at.y : side == 2 ? at.y - 1.2 * s->size : at.y + 1.2 * s->size;
        struct rectangle r = {left, y - half, left + width, y + half}, wide = r;
        if (side != 0)
            wide.left = fmin(r.left, fmax(r.left - pad, s->frame.left));
        if (side != 1)
            wide.right = fmax(r.right, fmin(r.right + pad, s->frame.right));
        *found = (struct place){{x, y}, anchors[side], r, false};
        if (is_free(s, &wide))
            return true;
    }
    return false;
}

static struct leader leader_to(const struct scatter *s, struct point at, const struct rectangle *r)
{
    double gap = 0.2 * s->size;
    struct point to = {fmin(fmax(at.x, r->left - gap), r->right + gap),
                       fmin(fmax(at.y, r->top), r->bottom)};
    double length = hypot(to.x - at.x, to.y - at.y), skip = 0.35 * s->size;
    struct point from = {at.x + (to.x - at.x) * skip / length,
                         at.y + (to.y - at.y) * skip / length};
    return (struct leader){from, to};
}

/* Finds the nearest free place around AT to which a line can be drawn. */
static bool find_around(const struct scatter *s, struct point at, double width, struct place *found)
{
    static const double distances[] = {1.8, 2.6, 3.6, 4.8, 6.2, 8};
    enum { DIRECTIONS = 16 };
    double half = 0.65 * s->size;
    for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++)
        for (int i = 0; i < DIRECTIONS; i++) {
            double angle = 2 * acos(-1) * i / DIRECTIONS, dx = cos(angle), dy = sin(angle);
            double x = at.x + dx * distances[d] * s->size, y = at.y + dy * distances[d] * s->size;
            enum anchor anchor = dx > 0.3 ? ANCHOR_LEFT : dx < -0.3 ? ANCHOR_RIGHT : ANCHOR_CENTER;
            double left = dx > 0.3 ? x : dx < -0.3 ? x - width : x - width / 2;
            struct rectangle r = {left, y - half, left + width, y + half};
            *found = (struct place){{x, y}, anchor, r, true};
            if (!is_free(s, &r))
                continue;
            struct leader leader = leader_to(s, at, &r);
            if (is_clear(s, &leader))
                return true;
        }
    return false;
}

/* Draws the name of ROW. Returns false if there is no place for it. */
static bool put_name(struct scatter *s, const struct ranked_row *row)
{
    bool cells = plot_is_text(s->plot);
    struct script *script = &s->plot->script;
    struct point at = place(s, row->values.time, row->values.energy);
    char *name = text_fit_name(row->name, script->width * 0.28 / s->size, cells, script->glyphs);
    double width = text_width(name, cells) * s->size * (cells ? 1 : HINTING);
    struct place found;
    bool any = find_beside(s, at, width, &found) || (!cells && find_around(s, at, width, &found));
    if (any && found.far) {
        struct leader l = leader_to(s, at, &found.area);
        s->leaders[s->leader_count++] = l;
        script_add(script,
                   "set arrow from screen %.6f,%.6f to screen %.6f,%.6f nohead front lw 0.7 lc rgb "
                   "'%s'\n",
                   l.from.x / script->width, 1 - l.from.y / script->height, l.to.x / script->width,
                   1 - l.to.y / script->height, script->theme->faint);
    }
    if (any) {
        s->taken[s->taken_count++] = found.area;
        put_text(s, found.at.x, found.at.y, found.anchor, name);
    }
    free(name);
    return any;
}

/* Writes the note in the lower right corner, which names then avoid. */
static void put_note(struct scatter *s, size_t nameless)
{
    bool cells = plot_is_text(s->plot);
    const struct frame *f = &s->frame;
    char *text = mem_printf("%zu row%s without a name", nameless, nameless == 1 ? "" : "s");
    frame_text(s->plot, f->right, f->bottom - (cells ? 2 : 0.8 * s->size), ANCHOR_RIGHT,
               s->plot->script.theme->faint, s->size, text);
    free(text);
}

/* Draws names for the largest rows, while there is room. No name may cover a dot. */
static void put_names(struct scatter *s)
{
    const struct frame *f = &s->frame;
    size_t tried = 0, named = 0;
    bool cells = plot_is_text(s->plot);
    s->taken = mem_zalloc(s->ranking.count + MAX_NAMES + 2, sizeof *s->taken);
    for (size_t i = 0; i < s->ranking.count; i++) {
        const struct ranked_row *row = &s->ranking.rows[i];
        if (!shows(s, row))
            continue;
        struct point at = place(s, row->values.time, row->values.energy);
        double r = 0.4 * s->size;
        s->taken[s->taken_count++] = (struct rectangle){at.x - r, at.y - r, at.x + r, at.y + r};
    }
    s->dot_count = s->taken_count;
    s->taken[s->taken_count++] =
        (struct rectangle){f->right - (cells ? 28 : 15) * s->size,
                           f->bottom - (cells ? 3 : 1.6) * s->size, f->right, f->bottom};
    for (size_t i = 0; i < s->ranking.count && tried < MAX_TRIED && named < MAX_NAMES; i++)
        if (shows(s, &s->ranking.rows[i])) {
            named += put_name(s, &s->ranking.rows[i]);
            tried++;
        }
    if (named < s->dot_count)
        put_note(s, s->dot_count - named);
    free(s->taken);
}

/* Draws lines energy = P * time for 1, 2, 5, 10, ... W, labelled with P at their right or upper
 * end. */
static void put_power(struct scatter *s)
{
    struct script *script = &s->plot->script;
    double least = s->low_energy / s->high_time, most = s->high_energy / s->low_time;
    static const double digits[] = {1, 2, 5};
    bool dense = log10(most / least) < 3;
    for (int decade = (int)floor(log10(least)); decade <= (int)ceil(log10(most)); decade++)
        for (size_t d = 0; d < (dense ? 3 : 1); d++) {
            double power = digits[d] * pow(10, decade);
            double x0 = fmax(s->low_time, s->low_energy / power),
                   x1 = fmin(s->high_time, s->high_energy / power);
            if (x1 < x0 * 1.2)
                continue;
            script_add(
                script,
                "set arrow from first %.9g,%.9g to first %.9g,%.9g nohead back dt 3 lc rgb '%s'\n",
                x0 / s->time.factor, x0 * power / s->energy.factor, x1 / s->time.factor,
                x1 * power / s->energy.factor, script->theme->faint);
            char *text = text_value(power, s->quantity->rate_unit);
            struct point end = place(s, x1, x1 * power);
            bool right = x1 >= s->high_time * 0.999;
            frame_text(s->plot, right ? end.x + 0.3 * s->size : end.x,
                       right ? end.y : end.y - 0.7 * s->size, right ? ANCHOR_LEFT : ANCHOR_CENTER,
                       script->theme->faint, 0.85 * s->size, text);
            free(text);
        }
}

/* Sets tics at powers of ten; if these are too few, at 1, 2, 5, 10, ... or at all digits. */
static void put_tics(struct scatter *s, char axis, double low, double high)
{
    static const double some[] = {1, 2, 5}, all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    double decades = log10(high / low);
    const double *digits = decades < 0.8 ? all : some;
    size_t count = decades < 0.8 ? 9 : decades < 2.5 ? 3 : 1;
    const char *separator = "";
    script_add(&s->plot->script, "set %ctics nomirror (", axis);
    for (int decade = (int)floor(log10(low)); decade <= (int)ceil(log10(high)); decade++)
        for (size_t d = 0; d < count; d++) {
            double at = digits[d] * pow(10, decade);
            if (at < low || at > high)
                continue;
            script_add(&s->plot->script, "%s'%g' %.9g", separator, at, at);
            separator = ", ";
        }
    script_add(&s->plot->script, ")\n");
}

static void put_data(struct scatter *s)
{
    struct script *script = &s->plot->script;
    script_add(script, "# time [s], %s [%s], name\n", s->quantity->name, s->quantity->unit);
    script_data(script, "$points");
    for (size_t i = 0; i < s->ranking.count; i++) {
        const struct ranked_row *row = &s->ranking.rows[i];
        if (!shows(s, row))
            continue;
        script_number(script, row->values.time);
        script_number(script, row->values.energy);
        script_row_end_name(script, row->name);
    }
    script_data_end(script);
}

/* Describes the profile, and functions that were dropped because logarithmic axes cannot show 0.
 * Caller frees. */
static char *subtitle_of(const struct scatter *s, const struct aggregate *a)
{
    char *text = frame_subtitle_of(s->plot, a);
    if (s->dropped > 0)
        mem_append(&text, " \xc2\xb7 not drawn: %zu row%s at 0 or below 0.01 %% of the largest",
                   s->dropped, s->dropped == 1 ? "" : "s");
    return text;
}

static void draw(struct scatter *s, const struct aggregate *a)
{
    struct plot *plot = s->plot;
    struct script *script = &plot->script;
    char *subtitle = subtitle_of(s, a);
    char *title = mem_printf("%s against time, per function; dotted: equal %s", s->quantity->name,
                             s->quantity->rate_name);
    title[0] = (char)(title[0] >= 'a' && title[0] <= 'z' ? title[0] - 32 : title[0]);
    s->size = plot_is_text(plot) ? 1 : 0.9 * script->em;
    s->frame = frame_begin(plot, title, subtitle);
    s->frame.left += plot_is_text(plot) ? 2 : 1.5 * script->em;
    s->frame.top += plot_is_text(plot) ? 0 : 0.8 * script->em;
    s->frame.right -= plot_is_text(plot) ? 8 : 3.5 * script->em;
    s->time = scale_for(s->high_time / 3, "s");
    s->energy = scale_for(s->high_energy / 2, s->quantity->unit);
    frame_margins(plot, &s->frame);
    frame_xaxis(plot, &s->frame, s->low_time, s->high_time, &s->time, "time");
    char *axis = frame_axis_title(s->quantity->name, s->energy.unit);
    frame_text_up(plot, 1.2 * script->em, (s->frame.top + s->frame.bottom) / 2, axis);
    free(axis);
    script_add(script,
               "set logscale xy\nset yrange [%.9g:%.9g]\nset format y '%%g'\nset ytics "
               "nomirror\nset border 3\n%s",
               s->low_energy / s->energy.factor, s->high_energy / s->energy.factor,
               plot_is_text(plot) ? "unset grid\n" : "");
    put_tics(s, 'x', s->low_time / s->time.factor, s->high_time / s->time.factor);
    put_tics(s, 'y', s->low_energy / s->energy.factor, s->high_energy / s->energy.factor);
    put_power(s);
    put_names(s);
    put_data(s);
    script_add(script,
               "plot $points using ($1/%g):($2/%g) with points pt 7 ps 0.8*dot lc rgb '%s'\n",
               s->time.factor, s->energy.factor, script->theme->bar);
    free(title);
    free(subtitle);
}

static int draw_scatter(struct plot *plot, struct error *err)
{
    const struct plot_options *o = plot->options;
    struct scatter s = {.plot = plot};
    int result = -1;
    struct aggregate *a = ranking_read(plot, o->inputs, o->input_count, err);
    if (a == NULL)
        return -1;
    s.quantity = aggregate_quantity(a);
    ranking_make(&s.ranking, a, s.quantity->name != NULL ? METRIC_ENERGY : METRIC_TIME, o->top);
    if (s.quantity->name == NULL)
        error_set(err, NULL, NO_OFFSET, "cannot draw energy: the profile has no PMU values");
    else if (ranking_check(&s.ranking, err) != 0)
        result = -1;
    else if (!find_ranges(&s))
        error_set(err, NULL, NO_OFFSET, "no row has both time and %s above 0", s.quantity->name);
    else
        result = 0;
    if (result == 0)
        draw(&s, a);
    if (result == 0 && plot->data != NULL)
        report_rows(a, &(struct report_options){.sort = METRIC_ENERGY, .top = o->top}, &table_csv,
                    plot->data);
    ranking_free(&s.ranking);
    aggregate_delete(a);
    return result;
}

const struct plot_kind plot_scatter = {.name = "scatter",
                                       .help = "time against energy, with lines of equal power",
                                       .draw = draw_scatter};
