/* compare: differences to a base as diverging bars; dumbbell: both values, joined by a line.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/characters.h"
#include "plot/page.h"
#include "plot/run_sets.h"

struct comparison {
    struct plot *plot;
    struct run_sets sets;
    struct scale scale;
    struct rows_layout layout;
    struct frame frame;
    bool relative;
};

/* Returns the value drawn for ROW: a difference, or a percentage of the base, which is +100 % for a
 * new row without a base. */
static double value_of(const struct comparison *c, const struct change *row)
{
    if (!c->relative)
        return row->difference;
    return isfinite(row->ratio) ? 100 * (row->ratio - 1) : 100;
}

static double interval_of(const struct comparison *c, const struct change *row)
{
    if (!c->relative)
        return row->error;
    return row->base != 0 ? 100 * row->error / fabs(row->base) : NAN;
}

static char *text_of(const struct comparison *c, const struct change *row)
{
    char *value = text_value(fabs(row->difference), c->sets.unit), *percent;
    if (row->result.verdict == VERDICT_NEW || row->result.verdict == VERDICT_GONE)
        percent = mem_strdup(verdict_name(row->result.verdict));
    else if (isinf(row->ratio))
        percent = mem_strdup("from 0");
    else if (row->ratio >= 10)
        percent = mem_printf("\xc3\x97 %.3g", row->ratio);
    else
        percent = mem_printf("%+.1f %%", 100 * (row->ratio - 1));
    char *text = mem_printf("%s%s  %s%s", row->difference < 0 ? "-" : "+", value, percent,
                            row->result.significant ? " *" : "");
    free(value);
    free(percent);
    return text;
}

static const char *color_of(const struct comparison *c, const struct change *row)
{
    const struct theme *theme = c->plot->script.theme;
    bool noise = row->tested && !row->result.significant;
    if (noise || row->other)
        return theme->other;
    return row->difference > 0 ? theme->more : theme->less;
}

static double widest_text(const struct comparison *c)
{
    double widest = 0;
    for (size_t i = 0; i < c->sets.count; i++) {
        char *text = text_of(c, &c->sets.rows[i]);
        widest = fmax(widest, text_width(text, plot_is_text(c->plot)));
        free(text);
    }
    return (widest + (plot_is_text(c->plot) ? 2 : 2.4)) * c->layout.size;
}

static void put_data(struct comparison *c)
{
    struct script *s = &c->plot->script;
    script_add(s, "# row, base, with, difference%s, half of its 95 %% interval, color, name\n",
               c->relative ? " [%]" : "");
    script_data(s, "$rows");
    for (size_t i = 0; i < c->sets.count; i++) {
        const struct change *row = &c->sets.rows[i];
        script_number(s, (double)i);
        script_number(s, row->base);
        script_number(s, row->with);
        script_number(s, value_of(c, row));
        script_number(s, interval_of(c, row));
        script_number(s, (double)strtol(color_of(c, row) + 1, NULL, 16));
        script_row_end_name(s, row->name);
    }
    script_data_end(s);
}

/* Draws TEXT in ROW, at X or, if X is NaN, in the column after the rows. */
static void put_text(struct comparison *c, size_t row, double x, const char *text)
{
    struct script *s = &c->plot->script;
    if (plot_is_text(c->plot)) { /* clear of the characters of the row */
        frame_text(c->plot, c->frame.right + 2, c->frame.top + (double)row, ANCHOR_LEFT,
                   s->theme->text, 1, text);
        return;
    }
    if (isnan(x))
        frame_label(c->plot, text, c->layout.size,
                    " at graph 1, first %zu left offset char 1.2,0 front textcolor rgb '%s'", row,
                    s->theme->text);
    else
        frame_label(c->plot, text, c->layout.size,
                    " at first %.9g,%zu left offset char 1.2,0 front textcolor rgb '%s'", x, row,
                    s->theme->text);
}

/* Appends "6.1 J (+20.0 %)" for each side. */
static void append_totals(const struct run_sets *sets, char **text)
{
    double base = sets->sides[0].total;
    for (size_t i = 1; i < sets->side_count; i++) {
        double total = sets->sides[i].total;
        char *value = text_value(total, sets->unit);
        mem_append(text, "%s%s (%+.1f %%)", i > 1 ? ", " : "", value,
                   base != 0 ? 100 * (total / base - 1) : 0);
        free(value);
    }
}

static char *title_of(const struct comparison *c)
{
    enum { MAX_SIDES = 4 }; /* maximum number of sides whose totals fit */
    const struct run_sets *sets = &c->sets;
    char *base = text_value(sets->sides[0].total, sets->unit), *after = mem_strdup("");
    append_totals(sets, &after);
    char *title =
        sets->metric == COMPARE_POWER || sets->side_count > MAX_SIDES
            ? mem_printf("%s: what changed", sets->metric_name)
        : sets->side_count > 2
            ? mem_printf("%s: %s before; %s", sets->metric_name, base, after)
            : mem_printf("%s: %s before, %.*s after %s", sets->metric_name, base,
                         (int)(strchr(after, '(') - 1 - after), after, strchr(after, '('));
    if (title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 32);
    free(base);
    free(after);
    return title;
}

static char *subtitle_of(const struct comparison *c, bool dumbbell)
{
    bool cells = plot_is_text(c->plot);
    static const char *const tests[] = {
        [TEST_NONE] = "one run per side: noise unknown",
        [TEST_WELCH] = "* significant (Welch, Holm, 5 %); grey: not",
        [TEST_SAMPLING] = "* significant (approximate, 5 %); grey: not"};
    char *key = mem_printf("%s \xc2\xb7 %s",
                           !dumbbell ? ""
                           : cells   ? " \xc2\xb7 o: base"
                                     : " \xc2\xb7 ring: base",
                           tests[c->sets.test]);
    double room = frame_subtitle_room(c->plot) - text_width(key, cells);
    char *text = run_sets_subtitle(&c->sets, room, cells);
    mem_append(&text, "%s", key);
    free(key);
    return text;
}

static void begin(struct comparison *c, bool dumbbell)
{
    char **names = mem_zalloc(c->sets.count + 1, sizeof *names);
    char *title = title_of(c), *subtitle = subtitle_of(c, dumbbell);
    for (size_t i = 0; i < c->sets.count; i++)
        names[i] = c->sets.rows[i].name;
    c->layout.name_width = c->plot->script.width * 0.33;
    c->frame = frame_begin(c->plot, title, subtitle);
    frame_names(c->plot, &c->frame, &c->layout, names, c->sets.count);
    if (!dumbbell || plot_is_text(c->plot))
        c->frame.right = c->plot->script.width - widest_text(c) * HINTING;
    frame_margins(c->plot, &c->frame);
    put_data(c);
    free(names);
    free(title);
    free(subtitle);
}

/* Returns the largest SIZE of all rows, or only of code if other rows are much larger. */
static double largest_by(const struct comparison *c,
                         double (*size)(const struct comparison *, const struct change *))
{
    double code = 0, rest = 0;
    for (size_t i = 0; i < c->sets.count; i++) {
        const struct change *row = &c->sets.rows[i];
        double *largest = row->other || row->label ? &rest : &code;
        *largest = fmax(*largest, size(c, row));
    }
    return scale_end(code, rest);
}

static double length_of(const struct comparison *c, const struct change *row)
{
    return fabs(value_of(c, row));
}

/* Determines the axis. Whiskers of a few runs are long. To keep the bars visible, whiskers of more
 * than twice the longest bar end at the border, and so do long bars that are not of code. */
static void bar_axis(const struct comparison *c, double *low, double *high)
{
    double longest = largest_by(c, length_of);
    *low = *high = 0;
    for (size_t i = 0; i < c->sets.count; i++) {
        double value = value_of(c, &c->sets.rows[i]), error = interval_of(c, &c->sets.rows[i]);
        error = error > 0 ? error : 0;
        value = fmax(fmin(value, 1.1 * longest), -1.1 * longest);
        *high = fmax(*high, fmin(value + error, 2 * longest));
        *low = fmin(*low, fmax(value - error, -2 * longest));
    }
    double span = *high > *low ? *high - *low : 1;
    *low -= 0.03 * span;
    *high += 0.03 * span;
}

static void put_bar_characters(struct comparison *c, double low, double high)
{
    struct characters row;
    characters_begin(&row, &c->frame, low, high);
    for (size_t i = 0; i < c->sets.count; i++) {
        double value = value_of(c, &c->sets.rows[i]);
        if (value != 0)
            characters_fill(&row, 0, value, value > 0 ? '+' : '-');
        if (value < low || value > high)
            characters_fill(&row, 0.96 * (value < low ? low : high),
                            0.93 * (value < low ? low : high), '/');
        characters_put(&row, 0, '|');
        characters_draw(&row, c->plot, &c->frame, i);
    }
    characters_free(&row);
    script_add(&c->plot->script, "plot NaN\n");
}

static void draw_bars(struct comparison *c)
{
    struct script *s = &c->plot->script;
    double low, high, half = fmin(0.36, 1.3 * s->em / c->layout.height);
    begin(c, false);
    bar_axis(c, &low, &high);
    c->scale = scale_for(fmax(fabs(low), high), c->relative ? "%" : c->sets.unit);
    frame_xaxis(c->plot, &c->frame, low, high, &c->scale,
                c->relative ? "change of the base" : "difference");
    for (size_t i = 0; i < c->sets.count; i++) {
        char *text = text_of(c, &c->sets.rows[i]);
        put_text(c, i, NAN, text);
        free(text);
    }
    frame_row_axes(c->plot);
    if (plot_is_text(c->plot)) {
        put_bar_characters(c, low, high);
        return;
    }
    script_add(s, "set arrow from first 0, graph 0 to first 0, graph 1 nohead front lc rgb '%s'\n",
               s->theme->faint);
    for (size_t i = 0; i < c->sets.count; i++) {
        double value = value_of(c, &c->sets.rows[i]);
        if (value < low || value > high)
            frame_break(c->plot, i, 0.96 * (value < low ? low : high) / c->scale.factor, half);
    }
    script_add(s,
               "plot $rows using (0):1:(0):($4/%g):($1-%g):($1+%g):6 with boxxyerror fillcolor rgb "
               "variable, "
               "$rows using ($5>0?$4/%g:1/0):1:($5/%g) with xerrorbars pt -1 lw 1.2 lc rgb '%s'\n",
               c->scale.factor, half, half, c->scale.factor, c->scale.factor, s->theme->text);
}

static double larger_of(const struct comparison *c, const struct change *row)
{
    (void)c;
    return fmax(row->base, row->with);
}

static void put_dumbbell_characters(struct comparison *c, double low, double high)
{
    struct characters row;
    characters_begin(&row, &c->frame, low, high);
    for (size_t i = 0; i < c->sets.count; i++) {
        const struct change *r = &c->sets.rows[i];
        characters_fill(&row, r->base, r->with, '-');
        characters_put(&row, r->base, 'o');
        characters_put(&row, r->with, '*');
        characters_draw(&row, c->plot, &c->frame, i);
    }
    characters_free(&row);
    script_add(&c->plot->script, "plot NaN\n");
}

static void put_dumbbell_texts(struct comparison *c, double most)
{
    for (size_t i = 0; i < c->sets.count; i++) {
        const struct change *row = &c->sets.rows[i];
        char *text = text_of(c, row);
        if (larger_of(c, row) > most && !plot_is_text(c->plot)) {
            char *base = text_value(row->base, c->sets.unit),
                 *whole = mem_printf("(%s before)  %s", base, text);
            free(base);
            free(text);
            text = whole;
        }
        double at = larger_of(c, row) > most ? 0 : larger_of(c, row) / c->scale.factor;
        put_text(c, i, plot_is_text(c->plot) ? NAN : at, text);
        free(text);
    }
}

static void draw_dumbbells(struct comparison *c)
{
    struct script *s = &c->plot->script;
    double most = largest_by(c, larger_of), text = widest_text(c) + s->em;
    bool cells = plot_is_text(c->plot);
    begin(c, true);
    double width = c->frame.right - c->frame.left;
    double end = most <= 0 ? 1 : cells ? most : most * width / fmax(width * 0.2, width - text);
    c->scale = scale_for(most, c->sets.unit);
    frame_xaxis(c->plot, &c->frame, -0.02 * end, end, &c->scale, c->sets.metric_name);
    put_dumbbell_texts(c, most);
    frame_row_axes(c->plot);
    if (cells) {
        put_dumbbell_characters(c, -0.02 * end, end);
        return;
    }
    script_add(s,
               "inside(x,y,v) = x>%.17g || y>%.17g ? NaN : v/%g\n"
               "plot $rows using (inside($2,$3,$2)):1:(($3-$2)/%g):(0):6 with vectors nohead lw "
               "3 lc rgb variable notitle, "
               "$rows using (inside($2,$3,$2)):1 with points pt 6 ps 1.1*dot lw 1.5 lc rgb '%s' "
               "notitle, "
               "$rows using (inside($2,$3,$3)):1:6 with points pt 7 ps 1.2*dot lc rgb variable "
               "notitle\n",
               most, most, c->scale.factor, c->scale.factor, s->theme->text);
}

static const char *group_of(const struct change *row)
{
    if (row->other)
        return LABEL_OTHER;
    if (row->tested && row->result.verdict == VERDICT_NOT_TESTED)
        return "not tested";
    if (row->tested && !row->result.significant)
        return "not significant";
    return row->difference > 0 ? "more" : "less";
}

static void put_page(struct comparison *c)
{
    struct plot *plot = c->plot;
    char *title = title_of(c), *subtitle = subtitle_of(c, false);
    page_begin(plot, "rows", title, subtitle);
    page_begin_rows(plot, c->relative ? 1 : 0);
    page_column(plot, "difference", c->sets.unit);
    page_column(plot, "change", "%");
    page_column(plot, "base", c->sets.unit);
    page_column(plot, "with", c->sets.unit);
    page_end_columns(plot);
    for (size_t i = 0; i < c->sets.count; i++) {
        const struct change *row = &c->sets.rows[i];
        const double values[] = {row->difference, 100 * (row->ratio - 1), row->base, row->with};
        page_row(plot, row->name, group_of(row), color_of(c, row), values, 4, interval_of(c, row),
                 row->other ? "" : verdict_name(row->result.verdict));
    }
    page_close(plot, ']');
    free(title);
    free(subtitle);
}

/* Chooses the rows of the comparison; each is drawn once for every side. */
static void choose_rows(struct comparison *c)
{
    struct plot *plot = c->plot;
    size_t top = plot->options->top, all = c->sets.all, others = c->sets.side_count - 1;
    size_t wanted = top > 0 && top < all ? top + 1 : top, rows;
    if (plot->script.picture == PICTURE_HTML) {
        rows = page_rows(top, all);
    } else {
        c->layout = frame_rows(plot, wanted * others, all * others);
        rows = c->layout.count / others;
        rows = rows >= 2 || all < 2 ? rows : 2;
    }
    run_sets_limit(&c->sets, rows < all ? rows - 1 : 0);
    if (plot->script.picture == PICTURE_HTML || others == 1)
        return;
    c->layout.height *= (double)c->layout.count / (double)c->sets.count;
    c->layout.size =
        plot_is_text(plot) ? 1 : fmin(plot->script.em, fmax(6, c->layout.height * 0.8));
    c->layout.count = c->sets.count;
}

static int draw(struct plot *plot, bool dumbbell, struct error *err)
{
    struct comparison c = {.plot = plot, .relative = plot->options->relative && !dumbbell};
    if (run_sets_read(&c.sets, plot, err) != 0)
        return -1;
    if (c.sets.all == 0) {
        run_sets_free(&c.sets);
        return ranking_check(&(struct ranking){0}, err);
    }
    if (plot->data != NULL)
        run_sets_write(&c.sets, plot->data);
    choose_rows(&c);
    if (plot->script.picture == PICTURE_HTML)
        put_page(&c);
    else if (dumbbell)
        draw_dumbbells(&c);
    else
        draw_bars(&c);
    run_sets_free(&c.sets);
    return 0;
}

static int draw_compare(struct plot *plot, struct error *err)
{
    return draw(plot, false, err);
}

static int draw_dumbbell(struct plot *plot, struct error *err)
{
    return draw(plot, true, err);
}

const struct plot_kind plot_compare = {.name = "compare",
                                       .help = "differences from a base, with their significance",
                                       .draws_page = true,
                                       .compares = true,
                                       .draw = draw_compare};
const struct plot_kind plot_dumbbell = {.name = "dumbbell",
                                        .help =
                                            "the values of a base and of other runs side by side",
                                        .compares = true,
                                        .draw = draw_dumbbell};
