/* The sums over the windows of the power sensor.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST_ROOM = 32 };

static void make_room(struct fit *fit, size_t columns)
{
    if (columns <= fit->room)
        return;
    size_t room = fit->room > 0 ? fit->room : FIRST_ROOM, old = fit_pairs(fit->room);
    while (room < columns)
        room *= 2;
    fit_flush(fit);
    exact *sums = mem_zalloc(FIT_SETS * fit_pairs(room), sizeof *sums);
    for (size_t g = 0; g < FIT_SETS && old > 0; g++)
        memcpy(sums + g * fit_pairs(room), fit->sums + g * old, old * sizeof *sums);
    free(fit->sums);
    fit->sums = sums;
    fit->room = room;
}

static void empty(struct fit_window *w)
{
    for (size_t i = 0; i < w->count; i++)
        w->at[w->column[i]] = FIT_NONE;
    w->count = 0;
    w->ns = 0;
    w->energy = 0;
    w->variance = w->edges = 0;
    w->any = w->bad = false;
}

struct fit *fit_new(void)
{
    struct fit *fit = mem_zalloc(1, sizeof *fit);
    make_room(fit, FIT_ROW);
    fit->columns = FIT_ROW;
    memset(fit->first.at, 0xff, sizeof fit->first.at);
    memset(fit->open.at, 0xff, sizeof fit->open.at);
    return fit;
}

void fit_delete(struct fit *fit)
{
    if (fit == NULL)
        return;
    free(fit->sums);
    free(fit->words);
    for (size_t g = 0; g < FIT_GROUPS; g++)
        free(fit->batch[g]);
    free(fit->column_of);
    free(fit->first.column);
    free(fit->first.cpu);
    free(fit->open.column);
    free(fit->open.cpu);
    free(fit->entries);
    free(fit->of);
    free(fit->after);
    free(fit->sample);
    free(fit->paired);
    free(fit->regular);
    free(fit->regular_room);
    fit_times_free(&fit->times);
    fit_seen_free(&fit->seen);
    free(fit);
}

uint16_t fit_column(struct fit *fit, uint32_t row)
{
    if (row >= fit->rows) {
        mem_reserve(&fit->column_of, &fit->row_capacity, (size_t)row + 1, sizeof *fit->column_of);
        memset(fit->column_of + fit->rows, 0xff,
               (fit->row_capacity - fit->rows) * sizeof *fit->column_of);
        fit->rows = fit->row_capacity;
    }
    if (fit->column_of[row] == FIT_NONE) {
        fit->column_of[row] = FIT_REST;
        if (fit->columns < FIT_COLUMNS) {
            make_room(fit, fit->columns + 1);
            fit->row[fit->columns] = row;
            fit->column_of[row] = (uint16_t)fit->columns++;
        }
    }
    return fit->column_of[row];
}

/* ---- the open window ---- */

static void add_cpu(struct fit_window *w, uint16_t column, const int64_t *cpu)
{
    if (w->at[column] == FIT_NONE) {
        if (w->count == w->column_capacity)
            mem_reserve(&w->column, &w->column_capacity, w->count + 1, sizeof *w->column);
        if (w->count == w->cpu_capacity)
            mem_reserve(&w->cpu, &w->cpu_capacity, w->count + 1, sizeof *w->cpu);
        memset(w->cpu[w->count], 0, sizeof *w->cpu);
        w->at[column] = (uint16_t)w->count;
        w->column[w->count++] = column;
    }
    int64_t *sum = w->cpu[w->at[column]];
    for (size_t e = 0; e < FIT_ESTIMATES; e++)
        w->bad |= __builtin_add_overflow(sum[e], cpu[e], &sum[e]);
}

static void add_time(struct fit_window *w, const struct fit_window *part)
{
    w->bad |= part->bad;
    w->bad |= __builtin_add_overflow(w->ns, part->ns, &w->ns);
    w->bad |= __builtin_add_overflow(w->energy, part->energy, &w->energy);
    w->variance += part->variance; /* both ends contribute, in any order */
    w->edges += part->edges;
    w->any = true;
    w->end = part->end;
}

void fit_extend(struct fit *fit, const struct fit_window *part)
{
    add_time(&fit->open, part);
}

void fit_extend_cpu(struct fit *fit, uint16_t column, const int64_t *cpu)
{
    add_cpu(&fit->open, column, cpu);
}

/* Appends FROM to TO; COLUMN maps the columns of FROM to those of TO (NULL: they are the same). */
static void extend(struct fit_window *to, const struct fit_window *from, const uint16_t *column)
{
    if (!from->any)
        return;
    add_time(to, from);
    for (size_t i = 0; i < from->count; i++)
        add_cpu(to, column != NULL ? column[from->column[i]] : from->column[i], from->cpu[i]);
}

void fit_end_window(struct fit *fit, bool bad)
{
    if (!fit->open.any && fit->divided)
        return;
    fit->open.bad |= bad;
    if (fit->divided)
        fit_take(fit, &fit->open);
    else
        extend(&fit->first, &fit->open, NULL);
    fit->divided = true;
    empty(&fit->open);
}

/* ---- joining ---- */

enum fit_edge { FIT_SAME_WINDOW, FIT_NEXT_WINDOW, FIT_BROKEN };

static enum fit_edge find_edge(enum fit_mode before, double rate_before, enum fit_mode after,
                               double rate_after)
{
    if (before == FIT_LEAPS || after == FIT_LEAPS)
        return before == after ? FIT_SAME_WINDOW : FIT_BROKEN;
    if (stretch_same_power(rate_before, rate_after))
        return before == FIT_POWERS && after == FIT_POWERS ? FIT_SAME_WINDOW : FIT_BROKEN;
    return FIT_NEXT_WINDOW;
}

void fit_cross_edge(struct fit *fit, enum fit_mode mode, double rate)
{
    if (fit->mode == FIT_NOTHING) {
        fit->first_mode = mode;
        fit->first_rate = rate;
        return;
    }
    enum fit_edge edge = find_edge(fit->mode, fit->rate, mode, rate);
    fit->updates += !stretch_same_power(fit->rate, rate);
    if (edge == FIT_SAME_WINDOW)
        return;
    fit_end_window(fit, edge == FIT_BROKEN);
    fit->open.bad = edge == FIT_BROKEN;
}

/* Sets COLUMN[c] to the column of TO for the row of each column c of FROM. */
static void match_columns(struct fit *to, const struct fit *from, const uint32_t *row,
                          uint16_t *column)
{
    for (uint16_t c = 0; c < from->columns; c++)
        column[c] =
            c < FIT_ROW ? c : fit_column(to, row != NULL ? row[from->row[c]] : from->row[c]);
}

void fit_put_pair(struct fit *fit, size_t group, size_t a, size_t b, bool different, exact value)
{
    exact *sum = fit_sum(fit, group, a, b);
    fit_put(fit, sum, value);
    if (a == b && different) /* (x + y)^2 contains x y twice */
        fit_put(fit, sum, value);
}

static void merge_sums(struct fit *to, const struct fit *from, const uint16_t *column)
{
    to->overflow |= from->overflow;
    to->running += from->running;
    to->averaged += from->averaged;
    to->updates += from->updates;
    fit_excess_merge(&to->excess, &from->excess);
    fit_own_merge(&to->own, &from->own);
    for (size_t a = 0; a < from->columns; a++) {
        fit_put(to, &to->cpu[column[a]], from->cpu[a]);
        fit_put(to, &to->switched[column[a]], from->switched[a]);
        for (size_t b = 0; b <= a; b++)
            for (size_t g = 0; g < FIT_SETS; g++)
                fit_put_pair(to, g, column[a], column[b], a != b, *fit_sum(from, g, a, b));
    }
}

void fit_merge(struct fit *to, const struct fit *from, const uint32_t *row)
{
    uint16_t column[FIT_COLUMNS];
    match_columns(to, from, row, column);
    merge_sums(to, from, column);
}

void fit_join(struct fit *fit, struct fit *later, const uint32_t *row)
{
    uint16_t column[FIT_COLUMNS];
    fit_flush(later);
    match_columns(fit, later, row, column);
    merge_sums(fit, later, column);
    if (later->mode == FIT_NOTHING)
        return;
    fit_cross_edge(fit, later->first_mode, later->first_rate);
    if (later->divided) {
        extend(&fit->open, &later->first, column);
        fit_end_window(fit, false);
    }
    extend(&fit->open, &later->open, column);
    fit->mode = later->mode;
    fit->rate = later->rate;
}

/* PART times VALUE, which has SHIFT fractional bits. */
static exact part_of(exact value, double part, int shift)
{
    return exact_of_double(exact_approximate(value, shift) * part, shift);
}

/* The corrections are the difference between the products of every other sample and those of all
 * samples; only PART of them is right. The rest is returned to the groups in proportion to their
 * time. */
static void correct_less(struct fit *fit, double part)
{
    double time = 0;
    for (size_t g = 0; g < FIT_GROUPS; g++)
        time += (double)*fit_sum(fit, g, FIT_TIME, FIT_TIME);
    for (size_t a = FIT_REST; a < fit->columns && time > 0; a++)
        for (size_t b = 0; b <= a; b++) {
            exact *taken = fit_sum(fit, FIT_GROUPS, a, b), all = *taken;
            int shift = b == FIT_ENERGY ? ENERGY_SHIFT : TIME_SHIFT;
            for (size_t g = 0; g < FIT_GROUPS; g++) {
                double own = (double)*fit_sum(fit, g, FIT_TIME, FIT_TIME) / time;
                exact back = part_of(all, (1 - part) * own, shift);
                fit_put(fit, fit_sum(fit, g, a, b), back);
                fit_put(fit, taken, -back);
            }
        }
}

/* Errors at the ends of windows are part of what a correction may remove, as a whole. */
static void join_ends(struct fit *fit)
{
    for (size_t a = 0; a < fit->columns; a++)
        for (size_t b = 0; b <= a; b++) {
            exact *ends = fit_sum(fit, FIT_ENDS, a, b);
            fit_put(fit, fit_sum(fit, FIT_GROUPS, a, b), *ends);
            *ends = 0;
        }
}

void fit_end(struct fit *fit)
{
    fit_flush(fit);
    double part =
        fit->own.kind != PBIN_OWN_NONE ? fit_own_part(&fit->own) : fit_excess_part(&fit->excess);
    if (part != 1)
        correct_less(fit, part);
    join_ends(fit);
    empty(&fit->first);
    empty(&fit->open);
    fit->divided = false;
    fit->mode = FIT_NOTHING;
}
