/* Sums of products over windows.
 *
 * Most windows add to one or more machine words for each pair of their columns, which fit_flush adds to the exact sums
 * before they can overflow. Each product is rounded alone, so that the sums do not depend on the order of windows.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/vectors.h"

/* A window in which threads used more CPUs than this has a wrong time. */
enum { MAX_CPUS = 1 << 12, SUM_ROOM = 10 };

/* Words have units of 2^-18 ns and 2^-46 J. A product must be less than 2^51 of them, and a sum less than 2^62. */
enum { WORD_TIME = 18, WORD_ENERGY = 46 };
#define NS_PART    0x1p-44 /* of such a sum */
#define JOULE_PART 0x1p-16
#define MAX_PART   0x1p-11

static inline void add_product(struct fit *fit, exact *sum, double value, int shift)
{
    if (exact_fits(value, shift, SUM_ROOM))
        fit_put(fit, sum, exact_of_double(value, shift));
    else
        fit->overflow = true;
}

/* The products of X and Y, of which each has three estimates, into GROUP and the one after all. */
static void add_products(struct fit *fit, size_t group, size_t a, size_t b, const double *x,
                         const double *y, double scale)
{
    int shift = b == FIT_ENERGY || a == FIT_ENERGY ? ENERGY_SHIFT : TIME_SHIFT;
    double all = x[0] * y[0] * scale;
    if (x[0] == x[1] && x[0] == x[2] && y[0] == y[1] && y[0] == y[2]) {
        add_product(fit, fit_sum(fit, group, a, b), all, shift);
        return;
    }
    double half = (x[1] * y[1] + x[2] * y[2]) * scale / 2;
    add_product(fit, fit_sum(fit, group, a, b), 2 * all - half, shift);
    add_product(fit, fit_sum(fit, FIT_GROUPS, a, b), half - all, shift);
}

/* What does not depend on columns. */
static void add_window(struct fit *fit, size_t group, double ns, double joule, double variance)
{
    double watt = joule / ns;
    fit->switched[FIT_TIME]++;
    add_product(fit, fit_sum(fit, group, FIT_TIME, FIT_TIME), ns, TIME_SHIFT);
    add_product(fit, fit_sum(fit, group, FIT_ENERGY, FIT_TIME), joule, ENERGY_SHIFT);
    add_product(fit, fit_sum(fit, group, FIT_ENERGY, FIT_ENERGY), joule * watt, ENERGY_SHIFT);
    if (variance > 0)
        add_product(fit, fit_sum(fit, FIT_GROUPS, FIT_ENERGY, FIT_ENERGY),
                    watt * watt * variance / ns, ENERGY_SHIFT);
}

static size_t group_of(uint64_t end)
{
    return end / FIT_BLOCK % FIT_GROUPS;
}

static bool is_usable(const struct fit_window *w)
{
    if (w->bad || w->ns <= 0)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->cpu[i][0] / MAX_CPUS > w->ns)
            return false;
    return true;
}

/* The products of the columns of a window, without words. */
static void add_exactly(struct fit *fit, size_t group, const struct fit_inner *w)
{
    double time[] = {w->ns, w->ns, w->ns}, energy[] = {w->energy, w->energy, w->energy};
    for (size_t i = 0; i < w->count; i++) {
        double x[] = {w->cpu[0][i], w->cpu[1][i], w->cpu[2][i]};
        add_products(fit, group, w->column[i], FIT_TIME, x, time, 1 / w->ns);
        add_products(fit, group, w->column[i], FIT_ENERGY, x, energy, 1 / w->ns);
        for (size_t j = 0; j <= i; j++) {
            double y[] = {w->cpu[0][j], w->cpu[1][j], w->cpu[2][j]};
            add_products(fit, group, w->column[i], w->column[j], x, y, 1 / w->ns);
        }
    }
}

/* A window that is shifted by little contains as much time of each row on average, but less of what the sensor measured: by the
 * time that it should not contain, at the mean of its rows, their products are too large by half of the square of that. */
static void subtract_edges(struct fit *fit, size_t group, const struct fit_inner *w)
{
    double all = 0, scale = w->edges / 2 / w->ns;
    for (size_t i = 0; i < w->count; i++)
        all += w->cpu[0][i];
    double threads = fmax(1, ceil(all / w->ns - 0.01));
    for (size_t i = 0; i < w->count; i++)
        for (size_t j = 0; j <= i; j++) {
            double x = w->cpu[0][i] / w->ns, y = w->cpu[0][j] / w->ns;
            double both = (i == j ? x : 0) - x * y / threads;
            add_product(fit, fit_sum(fit, group, w->column[i], w->column[j]), -scale * both,
                        TIME_SHIFT);
        }
}

/* ---- in words ---- */

/* VALUE, of less than 2^51 units, in units of 2^-SHIFT. */
static inline int64_t to_word(double value, int shift)
{
    double round = 1.5 * double_of_bits((uint64_t)(1023 + 52 - shift) << 52);
    return (int64_t)(bits_of_double(value + round) - bits_of_double(round));
}

/* The sums of all groups are larger than the caches of a core, and the next window is often of another group. Windows are
 * collected, and added when there are many of a group. Each is a row of doubles: a head, the numbers of the columns, and
 * the estimates of their CPU times: all three, or one if they do not differ. */
enum { HEAD_NS, HEAD_ENERGY, HEAD_PART, HEAD_COUNT, HEAD };

/* Doubles of a batch; the sums of up to so many columns are in the caches anyway, where a batch should be, too. */
enum { BATCH = 24576, SMALL_BATCH = 768, SMALL_ROOM = 64 };

/* The products of a window: of COUNT columns, with three estimates of each. */
struct terms {
    double ns, energy;
    size_t count;
    bool varies;
    const uint16_t *column;  /* ascending */
    const double *x, *y, *z; /* readable up to a multiple of FIT_LANES */
};

/* Products of so many columns are computed at once, if there are not more. */
enum { FEW_LANES = FIT_LANES / 2 };

/* The products of column number I with those up to it, LANES at a time: corrected, and what the correction takes away. */
static inline __attribute__((always_inline)) void multiply(const struct terms *t, size_t i,
                                                           size_t lanes, double per_ns,
                                                           int64_t *restrict corrected,
                                                           int64_t *restrict taken)
{
    const double *restrict x = t->x, *restrict y = t->y, *restrict z = t->z;
    for (size_t begin = 0; begin <= i; begin += lanes)
        for (size_t j = begin; j < begin + lanes; j++) {
            double all = x[i] * x[j] * per_ns, half = (y[i] * y[j] + z[i] * z[j]) * (per_ns / 2);
            corrected[j] = to_word(2 * all - half, WORD_TIME);
            taken[j] = to_word(half - all, WORD_TIME);
        }
}

/* The same if estimates do not differ: there is nothing to correct. */
static inline __attribute__((always_inline)) void
multiply_same(const struct terms *t, size_t i, size_t lanes, double per_ns, int64_t *restrict words)
{
    const double *restrict x = t->x;
    for (size_t begin = 0; begin <= i; begin += lanes)
        for (size_t j = begin; j < begin + lanes; j++)
            words[j] = to_word(x[i] * x[j] * per_ns, WORD_TIME);
}

VECTORS
static void add_same(const struct terms *w, int64_t *restrict sums)
{
    double per_ns = 1 / w->ns, rate = w->energy / w->ns;
    int64_t words[FIT_COLUMNS];
    for (size_t i = 0; i < w->count; i++) {
        size_t at = fit_pairs(w->column[i]);
        if (i < FEW_LANES)
            multiply_same(w, i, FEW_LANES, per_ns, words);
        else
            multiply_same(w, i, FIT_LANES, per_ns, words);
        for (size_t j = 0; j <= i; j++)
            sums[at + w->column[j]] += words[j];
        sums[at + FIT_TIME] += to_word(w->x[i], WORD_TIME);
        sums[at + FIT_ENERGY] += to_word(w->x[i] * rate, WORD_ENERGY);
    }
}

VECTORS
static void add_terms(const struct terms *w, int64_t *restrict sums, int64_t *restrict more)
{
    double per_ns = 1 / w->ns, rate = w->energy / w->ns;
    int64_t corrected[FIT_COLUMNS], taken[FIT_COLUMNS];
    for (size_t i = 0; i < w->count; i++) {
        size_t at = fit_pairs(w->column[i]);
        double all = w->x[i], half = (w->y[i] + w->z[i]) / 2;
        if (i < FEW_LANES)
            multiply(w, i, FEW_LANES, per_ns, corrected, taken);
        else
            multiply(w, i, FIT_LANES, per_ns, corrected, taken);
        for (size_t j = 0; j <= i; j++) {
            sums[at + w->column[j]] += corrected[j];
            more[at + w->column[j]] += taken[j];
        }
        sums[at + FIT_TIME] += to_word(2 * all - half, WORD_TIME);
        sums[at + FIT_ENERGY] += to_word((2 * all - half) * rate, WORD_ENERGY);
        more[at + FIT_TIME] += to_word(half - all, WORD_TIME);
        more[at + FIT_ENERGY] += to_word((half - all) * rate, WORD_ENERGY);
    }
}

static void flush_group(struct fit *fit, size_t group)
{
    if (fit->used[group] == 0)
        return;
    exact *sums = fit->sums + group * fit_pairs(fit->room);
    int64_t *words = fit->words + group * fit_pairs(fit->words_room);
    for (size_t a = FIT_REST; a < fit->columns; a++)
        for (size_t b = 0, at = fit_pairs(a); b <= a; b++, at++) {
            int up = b == FIT_ENERGY ? ENERGY_SHIFT - WORD_ENERGY : TIME_SHIFT - WORD_TIME;
            if (words[at] != 0)
                fit_put(fit, &sums[at], (exact)words[at] * ((exact)1 << up));
            words[at] = 0;
        }
    fit->used[group] = 0;
}

/* Makes room for words of PART of the largest word. */
static void use_words(struct fit *fit, size_t group, double part)
{
    if (fit->words_room < fit->room) {
        for (size_t g = 0; g < PBIN_FIT_GROUPS; g++)
            flush_group(fit, g);
        free(fit->words);
        fit->words = mem_zalloc(PBIN_FIT_GROUPS * fit_pairs(fit->room), sizeof *fit->words);
        fit->words_room = fit->room;
    }
    if (fit->used[group] + part > 1)
        flush_group(fit, group);
    fit->used[group] += part;
}

/* They will be needed in an order without pattern. */
static void prefetch(const int64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i += 8)
        __builtin_prefetch(words + i, 1, 2);
}

/* How many are in a batch. */
static inline size_t estimates(bool varies)
{
    return varies ? FIT_ESTIMATES : 1;
}

/* Adds the windows of a batch. */
static void add_batch(struct fit *fit, size_t group)
{
    const double *values = fit->batch[group];
    if (fit->batched[group] > BATCH / 2 && fit->words_room >= fit->columns)
        prefetch(fit->words + group * fit_pairs(fit->words_room), fit_pairs(fit->columns));
    for (size_t at = 0; at < fit->batched[group];) {
        const double *head = values + at;
        size_t count = (size_t)head[HEAD_COUNT] / 2, columns = (count + 3) / 4;
        const double *cpu = head + HEAD + columns;
        struct terms terms = {.ns = head[HEAD_NS],
                              .energy = head[HEAD_ENERGY],
                              .count = count,
                              .varies = (size_t)head[HEAD_COUNT] % 2 == 1,
                              .column = (const uint16_t *)(const void *)(head + HEAD),
                              .x = cpu,
                              .y = cpu + count,
                              .z = cpu + 2 * count};
        use_words(fit, group, head[HEAD_PART]);
        use_words(fit, FIT_GROUPS, head[HEAD_PART]);
        size_t pairs = fit_pairs(fit->words_room);
        if (terms.varies)
            add_terms(&terms, fit->words + group * pairs, fit->words + FIT_GROUPS * pairs);
        else
            add_same(&terms, fit->words + group * pairs);
        at += HEAD + columns + estimates(terms.varies) * count;
    }
    fit->batched[group] = 0;
}

/* COUNT values, and up to FEW_LANES - 1 more, without a call for a few. */
static inline void copy(double *restrict to, const double *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i += FEW_LANES)
        memcpy(to + i, from + i, FEW_LANES * sizeof *to);
}

/* Collects a window that uses PART of the range of words. */
static void put_batch(struct fit *fit, size_t group, const struct fit_inner *w, double part)
{
    size_t columns = (w->count + 3) / 4, size = HEAD + columns + estimates(w->varies) * w->count;
    if (fit->batch[group] == NULL)
        fit->batch[group] = mem_zalloc(BATCH, sizeof *fit->batch[group]);
    size_t most = fit->room > SMALL_ROOM ? BATCH : SMALL_BATCH;
    if (fit->batched[group] + size + FIT_LANES > most)
        add_batch(fit, group);
    double *head = fit->batch[group] + fit->batched[group], *cpu = head + HEAD + columns;
    head[HEAD_NS] = w->ns;
    head[HEAD_ENERGY] = w->energy;
    head[HEAD_PART] = part;
    head[HEAD_COUNT] = (double)(2 * w->count + w->varies);
    for (size_t c = 0; c < columns; c++)
        memcpy(head + HEAD + c, w->column + 4 * c, sizeof *head);
    for (size_t e = 0; e < estimates(w->varies); e++)
        copy(cpu + e * w->count, w->cpu[e], w->count);
    fit->batched[group] += size;
}

void fit_flush(struct fit *fit)
{
    for (size_t g = 0; g < FIT_GROUPS; g++)
        add_batch(fit, g);
    for (size_t g = 0; g < PBIN_FIT_GROUPS; g++)
        flush_group(fit, g);
}

void fit_take_inner(struct fit *fit, const struct fit_inner *w)
{
    size_t group = group_of(w->end);
    double most = 0, all = 0;
    if (!(w->ns > 0))
        return;
    for (size_t i = 0; i < w->count; i++)
        all = w->cpu[0][i] > all ? w->cpu[0][i] : all;
    for (size_t i = 0; i < w->count && w->varies; i++) {
        double y = fabs(w->cpu[1][i]), z = fabs(w->cpu[2][i]);
        most = y > most ? y : most;
        most = z > most ? z : most;
    }
    if (!(all <= w->ns * MAX_CPUS))
        return;
    add_window(fit, group, w->ns, w->energy, w->variance);
    if (w->edges > 0)
        subtract_edges(fit, group, w);
    most = most > all ? most : all;
    /* 2 x x' - (y y' + z z') / 2 */
    double cpus = most / w->ns, ns = 3 * most * (cpus > 1 ? cpus : 1);
    double joule = 3 * cpus * fabs(w->energy);
    double part = ns * NS_PART > joule * JOULE_PART ? ns * NS_PART : joule * JOULE_PART;
    if (!(part < MAX_PART)) {
        add_exactly(fit, group, w); /* the products are too large for words */
        return;
    }
    put_batch(fit, group, w, part);
}

/* Copies the columns of a window in ascending order. */
static void sort_columns(const struct fit_window *w, struct fit_inner *inner)
{
    for (size_t i = 0; i < w->count; i++) {
        size_t at = i;
        for (; at > 0 && inner->column[at - 1] > w->column[i]; at--) {
            inner->column[at] = inner->column[at - 1];
            for (size_t e = 0; e < FIT_ESTIMATES; e++)
                inner->cpu[e][at] = inner->cpu[e][at - 1];
        }
        inner->column[at] = w->column[i];
        for (size_t e = 0; e < FIT_ESTIMATES; e++)
            inner->cpu[e][at] = (double)w->cpu[i][e] / FIT_TICK;
        inner->varies |= w->cpu[i][0] != w->cpu[i][1] || w->cpu[i][0] != w->cpu[i][2];
    }
    inner->count = w->count;
}

void fit_take(struct fit *fit, const struct fit_window *w)
{
    uint16_t column[FIT_COLUMNS];
    double cpu[FIT_ESTIMATES][FIT_COLUMNS];
    struct fit_inner inner = {.ns = (double)w->ns / FIT_TICK,
                              .energy = exact_approximate(w->energy, ENERGY_SHIFT),
                              .variance = w->variance,
                              .edges = w->edges,
                              .end = w->end,
                              .column = column,
                              .cpu = cpu};
    if (!is_usable(w))
        return;
    sort_columns(w, &inner);
    fit_take_inner(fit, &inner);
}
