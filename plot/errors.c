/* Distributions of errors.
 * SPDX-License-Identifier: MIT */
#include "plot/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Returns the displayed name: "absolute relative error" for "absolute-relative". Caller frees. */
static char *name_of(enum error_function function, const char *metric)
{
    if (function == ERROR_CORRECT)
        return mem_printf("correct part of %s", metric);
    const char *name = error_function_name(function);
    char *text =
        mem_printf("%s%s of %s", name, strstr(name, "error") != NULL ? "" : " error", metric);
    for (char *c = text; c < text + strlen(name); c++)
        *c = (char)(*c == '-' ? ' ' : *c);
    return text;
}

/* Fills the spread of SIDE. Sets LEFT_OUT[row] for rows that are not in it. */
static void take_side(struct errors *e, size_t side, bool *left_out)
{
    size_t all = e->sets.all;
    struct spread *spread = &e->rows[side - 1];
    double *errors = mem_zalloc(all, sizeof *errors), *weights = mem_zalloc(all, sizeof *weights);
    report_compare_errors(e->sets.compare, &e->sets.report, side, errors, weights);
    spread->name = mem_strdup(e->sets.sides[side].name);
    spread->weighted = true;
    spread->bound = e->sets.report.error == ERROR_RELATIVE ? -100 : 0;
    spread->values = mem_zalloc(all, sizeof *spread->values);
    spread->count = all;
    for (size_t i = 0; i < all; i++) {
        spread->values[i] = (struct spread_value){errors[i], fabs(weights[i])};
        left_out[i] |= !(isfinite(errors[i]) && fabs(weights[i]) > 0);
    }
    spread_sort(spread);
    free(errors);
    free(weights);
}

static int take_sides(struct errors *e, struct error *err)
{
    bool *left_out = mem_zalloc(e->sets.all, sizeof *left_out);
    e->count = e->sets.side_count - 1;
    e->rows = mem_zalloc(e->count, sizeof *e->rows);
    for (size_t side = 1; side <= e->count; side++)
        take_side(e, side, left_out);
    for (size_t i = 0; i < e->sets.all; i++)
        e->left_out += left_out[i];
    free(left_out);
    for (size_t i = 0; i < e->count; i++)
        if (e->rows[i].count == 0)
            return error_set(err, e->sets.sides[i + 1].paths[0], NO_OFFSET,
                             "no row has both an error and a weight in the base");
    return 0;
}

int errors_read(struct errors *e, const struct plot *plot, struct error *err)
{
    enum error_function function = plot->options->error;
    *e = (struct errors){0};
    if (run_sets_read(&e->sets, plot, err) != 0)
        return -1;
    if (plot->data != NULL && plot->options->other_weights && e->sets.side_count > 2)
        return error_set_usage(err, NULL, "--script with --weight other needs a single other side");
    if (e->sets.all == 0)
        return ranking_check(&(struct ranking){0}, err);
    e->name = name_of(function, e->sets.metric_name);
    e->unit = error_function_is_relative(function) ? "%" : e->sets.unit;
    return take_sides(e, err);
}

void errors_free(struct errors *e)
{
    for (size_t i = 0; i < e->count; i++)
        spread_free(&e->rows[i]);
    free(e->rows);
    free(e->name);
    run_sets_free(&e->sets);
}

char *errors_legend(const struct errors *e)
{
    size_t drawn = e->sets.all - e->left_out;
    double least = INFINITY;
    for (size_t i = 0; i < e->count; i++)
        least = fmin(least, spread_effective(&e->rows[i]));
    char *text = mem_printf("%zu", drawn);
    if (e->left_out > 0)
        mem_append(&text, " of %zu", e->sets.all);
    mem_append(&text, " row%s by share of %s \xc2\xb7 effectively %.1f rows%s \xc2\xb7 ",
               e->sets.all == 1 ? "" : "s", e->sets.report.other_weights ? "the side" : "the base",
               least, e->count > 1 ? " or more" : "");
    return text;
}
