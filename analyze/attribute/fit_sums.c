/* Sums of products over windows.
 *
 * Most windows are added to machine words, for each pair of their columns. fit_flush adds these to
 * the exact sums before they can overflow. Each product is rounded separately, so that the sums do
 * not depend on the order of windows.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/vectors.h"

/* A window in which threads used more CPUs than this has a wrong duration. */
enum { MAX_CPUS = 1 << 12, SUM_ROOM = 10 };

/* Words have units of 2^-18 ns and 2^-46 J. A product must be below 2^51 units, and a sum below
 * 2^62. */
enum { WORD_TIME = 18, WORD_ENERGY = 46 };
#define NS_PART     0x1p-44 /* of the largest such sum */
#define JOULE_PART  0x1p-16
#define MAX_PART    0x1p-11
#define MAX_NS      0x1p32 /* 2^12 of these fit in a word */
#define MAX_J       0x1p4
#define MAX_BATCHED 0.5 /* the same for the windows of a batch, except the last */

static inline void add_product(struct fit *fit, exact *sum, double value, int shift)
{
    if (exact_fits(value, shift, SUM_ROOM))
        fit_put(fit, sum, exact_of_double(value, shift));
    else
        fit->overflow = true;
}

/* Adds the products of X and Y, which have three estimates each, to GROUP and to the group after
 * the last. */
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

/* Adds the products that do not depend on columns. */
static void add_window(struct fit *fit, size_t group, double ns, double joule)
{
    fit->switched[FIT_TIME]++;
    add_product(fit, fit_sum(fit, group, FIT_TIME, FIT_TIME), ns, TIME_SHIFT);
    add_product(fit, fit_sum(fit, group, FIT_ENERGY, FIT_TIME), joule, ENERGY_SHIFT);
    add_product(fit, fit_sum(fit, group, FIT_ENERGY, FIT_ENERGY), joule * (joule / ns),
                ENERGY_SHIFT);
}

static void add_variance(struct fit *fit, double ns, double joule, double variance)
{
    double watt = joule / ns;
    add_product(fit, fit_sum(fit, FIT_GROUPS, FIT_ENERGY, FIT_ENERGY), watt * watt * variance / ns,
                ENERGY_SHIFT);
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

/* Adds the products of the columns of a window without using words. */
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

/* A window that is slightly shifted contains the same time of each row on average, but less of the
 * time that the sensor measured. The products are too large by half of the square of the time that
 * does not belong to the window, at the average of its rows. */
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

/* VALUE, which is below 2^51 units, in units of 2^-SHIFT. */
static inline int64_t to_word(double value, int shift)
{
    double round = 1.5 * double_of_bits((uint64_t)(1023 + 52 - shift) << 52);
    return (int64_t)(bits_of_double(value + round) - bits_of_double(round));
}

/* A corrected product, and the amount that the correction removes. The sums of both are side by
 * side, so that a single addition is enough for a pair of columns. */
typedef int64_t words __attribute__((vector_size(16)));
enum { CORRECTED, TAKEN, WORDS };

/* The sums of all groups exceed the caches of a core, and the next window often belongs to another
 * group. Windows are therefore collected in a batch, and added when a group has many of them. Each
 * is a row of doubles: a head, the numbers of its columns, and the estimates of their CPU times
 * (all three, or one if they do not differ). */
enum { HEAD_NS, HEAD_ENERGY, HEAD_COUNT, HEAD };

/* Doubles of a batch. The sums of up to SMALL_ROOM columns fit in the caches; the batch should fit
 * there, too. */
enum { BATCH = 24576, SMALL_BATCH = 768, SMALL_ROOM = 64 };

enum { LANES = 4 };

/* The factors of a window: COUNT columns with three estimates each. */
struct terms {
    double ns, energy;
    size_t count;
    bool varies;
    const uint16_t *column;  /* ascending */
    const double *x, *y, *z; /* readable up to the next multiple of LANES */
};

/* Products use explicit vectors, because compilers would split loops of this length. */
typedef double lanes __attribute__((vector_size(LANES * 8)));
typedef double loose __attribute__((vector_size(LANES * 8), aligned(8), may_alias));
typedef int64_t lane_words __attribute__((vector_size(LANES * 8)));
typedef int64_t loose_words __attribute__((vector_size(LANES * 8), aligned(8), may_alias));
#define LOAD(values) (*(const loose *)(values))

/* The same as to_word for times. */
#define TO_WORDS(value, round) ((lane_words)((value) + (round)) - (lane_words)(round))
#define ROUND(shift)           (1.5 * (double)(INT64_C(1) << (52 - (shift))) - (lanes){0})

/* Adds the products of column I with COUNT of the four columns starting at J to its row of words. COUNT
 * is a constant, to avoid duplicate code. If the estimates do not differ, there is nothing to
 * correct. */
INLINE void add_four(const struct terms *t, size_t i, size_t j, size_t count, double per_ns,
                     words *restrict row)
{
    const uint16_t *column = t->column + j;
    const lanes all = t->x[i] * LOAD(t->x + j) * per_ns;
    if (!t->varies) {
        const lane_words product = TO_WORDS(all, ROUND(WORD_TIME));
        for (size_t l = 0; l < count; l++)
            row[column[l]][CORRECTED] += product[l];
        return;
    }
    const lanes half = (t->y[i] * LOAD(t->y + j) + t->z[i] * LOAD(t->z + j)) * (per_ns / 2);
    const lane_words corrected = TO_WORDS(2 * all - half, ROUND(WORD_TIME)),
                     taken = TO_WORDS(half - all, ROUND(WORD_TIME)),
                     even = __builtin_shufflevector(corrected, taken, 0, 4, 2, 6),
                     odd = __builtin_shufflevector(corrected, taken, 1, 5, 3, 7);
    row[column[0]] += __builtin_shufflevector(even, even, 0, 1);
    if (count > 1)
        row[column[1]] += __builtin_shufflevector(odd, odd, 0, 1);
    if (count > 2)
        row[column[2]] += __builtin_shufflevector(even, even, 2, 3);
    if (count > 3)
        row[column[3]] += __builtin_shufflevector(odd, odd, 2, 3);
}

/* Adds the products of COUNT columns, starting at I, with time and energy, the words of which are at
 * the beginning of each row. */
INLINE void add_heading(const struct terms *t, size_t i, size_t count, double rate,
                        words *const *row)
{
    _Static_assert(FIT_TIME == 0 && FIT_ENERGY == 1, "they are side by side");
    const lanes all = LOAD(t->x + i);
    lanes half = all;
    if (t->varies)
        half = (LOAD(t->y + i) + LOAD(t->z + i)) / 2;
    const lanes corrected = 2 * all - half, taken = half - all;
    const lane_words ns = TO_WORDS(corrected, ROUND(WORD_TIME)),
                     ns_taken = TO_WORDS(taken, ROUND(WORD_TIME)),
                     joule = TO_WORDS(corrected * rate, ROUND(WORD_ENERGY)),
                     joule_taken = TO_WORDS(taken * rate, ROUND(WORD_ENERGY)),
                     even_ns = __builtin_shufflevector(ns, ns_taken, 0, 4, 2, 6),
                     odd_ns = __builtin_shufflevector(ns, ns_taken, 1, 5, 3, 7),
                     even_joule = __builtin_shufflevector(joule, joule_taken, 0, 4, 2, 6),
                     odd_joule = __builtin_shufflevector(joule, joule_taken, 1, 5, 3, 7);
    *(loose_words *)row[0] += __builtin_shufflevector(even_ns, even_joule, 0, 1, 4, 5);
    if (count > 1)
        *(loose_words *)row[1] += __builtin_shufflevector(odd_ns, odd_joule, 0, 1, 4, 5);
    if (count > 2)
        *(loose_words *)row[2] += __builtin_shufflevector(even_ns, even_joule, 2, 3, 6, 7);
    if (count > 3)
        *(loose_words *)row[3] += __builtin_shufflevector(odd_ns, odd_joule, 2, 3, 6, 7);
}

/* Adds the products of COUNT columns, starting at I, with themselves and all columns before them. COUNT
 * is a constant, and I a multiple of LANES. Steps have a constant length, because the number of
 * columns varies, which would make branches hard to predict. */
INLINE void add_rows(const struct terms *t, size_t i, size_t count, words *restrict sums)
{
    double per_ns = 1 / t->ns, rate = t->energy / t->ns;
    words *row[LANES] = {sums + fit_pairs(t->column[i])};
    for (size_t r = 1; r < count; r++)
        row[r] = sums + fit_pairs(t->column[i + r]);
    for (size_t j = 0; j < i; j += LANES)
        for (size_t r = 0; r < count; r++)
            add_four(t, i + r, j, LANES, per_ns, row[r]);
    for (size_t r = 0; r < count; r++)
        add_four(t, i + r, i, r + 1, per_ns, row[r]);
    add_heading(t, i, count, rate, row);
}

INLINE void add_terms(const struct terms *terms, bool varies, words *restrict sums)
{
    struct terms t = *terms;
    size_t i = 0;
    t.varies = varies;
    for (; i + LANES <= t.count; i += LANES)
        add_rows(&t, i, LANES, sums);
    if (t.count - i == 3)
        add_rows(&t, i, 3, sums);
    else if (t.count - i == 2)
        add_rows(&t, i, 2, sums);
    else if (t.count - i == 1)
        add_rows(&t, i, 1, sums);
}

/* The number of estimates that a batch contains. */
static inline size_t estimates(bool varies)
{
    return varies ? FIT_ESTIMATES : 1;
}

/* The sums of a batch that do not depend on columns. Each value consists of two words, one in
 * coarse units and one in units of 2^-FINE, which together are as exact as add_window. */
struct heads {
    uint64_t count;
    struct fine {
        int64_t high, low;
    } ns, energy, squares;
};

INLINE void add_fine(struct fine *sum, double value, int shift, int fine)
{
    double round = 1.5 * double_of_bits((uint64_t)(1023 + 52 - shift) << 52);
    double high = value + round - round;
    sum->high += to_word(value, shift);
    sum->low += to_word(value - high, fine);
}

/* Adds the windows of a batch of SIZE doubles. */
VECTORS
static void add_windows(const double *values, size_t size, words *sums, struct heads *to)
{
    struct heads heads = {0};
    for (size_t at = 0; at < size;) {
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
        if (terms.varies)
            add_terms(&terms, true, sums);
        else
            add_terms(&terms, false, sums);
        heads.count++;
        add_fine(&heads.ns, terms.ns, WORD_TIME, TIME_SHIFT);
        add_fine(&heads.energy, terms.energy, WORD_ENERGY, ENERGY_SHIFT);
        add_fine(&heads.squares, terms.energy * (terms.energy / terms.ns), WORD_ENERGY,
                 ENERGY_SHIFT);
        at += HEAD + columns + estimates(terms.varies) * count;
    }
    *to = heads;
}

static exact whole_of(const struct fine *sum, int shift, int fine)
{
    return sum->high * ((exact)1 << (fine - shift)) + sum->low;
}

/* The same as add_window. */
static void add_heads(struct fit *fit, size_t group, const struct heads *h)
{
    fit->switched[FIT_TIME] += h->count;
    fit_put(fit, fit_sum(fit, group, FIT_TIME, FIT_TIME), whole_of(&h->ns, WORD_TIME, TIME_SHIFT));
    fit_put(fit, fit_sum(fit, group, FIT_ENERGY, FIT_TIME),
            whole_of(&h->energy, WORD_ENERGY, ENERGY_SHIFT));
    fit_put(fit, fit_sum(fit, group, FIT_ENERGY, FIT_ENERGY),
            whole_of(&h->squares, WORD_ENERGY, ENERGY_SHIFT));
}

static int64_t *words_of(const struct fit *fit, size_t group)
{
    return fit->words + WORDS * group * fit_pairs(fit->words_room);
}

static void flush_group(struct fit *fit, size_t group)
{
    if (fit->used[group] == 0)
        return;
    int64_t *word = words_of(fit, group);
    for (size_t a = FIT_REST; a < fit->columns; a++)
        for (size_t b = 0, at = fit_pairs(a); b <= a; b++, at++) {
            int up = b == FIT_ENERGY ? ENERGY_SHIFT - WORD_ENERGY : TIME_SHIFT - WORD_TIME;
            int64_t *both = word + WORDS * at;
            if (both[CORRECTED] != 0)
                fit_put(fit, fit_sum(fit, group, a, b), (exact)both[CORRECTED] * ((exact)1 << up));
            if (both[TAKEN] != 0)
                fit_put(fit, fit_sum(fit, FIT_GROUPS, a, b), (exact)both[TAKEN] * ((exact)1 << up));
            both[CORRECTED] = both[TAKEN] = 0;
        }
    fit->used[group] = 0;
}

/* Makes room for words that grow by PART of the largest word. */
static void use_words(struct fit *fit, size_t group, double part)
{
    if (fit->words_room < fit->room) {
        for (size_t g = 0; g < FIT_GROUPS; g++)
            flush_group(fit, g);
        free(fit->words);
        fit->words = mem_zalloc(FIT_GROUPS * fit_pairs(fit->room), sizeof(words));
        fit->words_room = fit->room;
    }
    if (fit->used[group] + part > 1)
        flush_group(fit, group);
    fit->used[group] += part;
}

/* Prefetches words that will be needed in an irregular order. */
static void prefetch(const int64_t *word, size_t count)
{
    for (size_t i = 0; i < count; i += 8)
        __builtin_prefetch(word + i, 1, 2);
}

/* Adds the windows of a batch. */
static void add_batch(struct fit *fit, size_t group)
{
    size_t size = fit->batched[group];
    if (size == 0)
        return;
    use_words(fit, group, fit->batch_part[group]);
    if (size > BATCH / 2)
        prefetch(words_of(fit, group), WORDS * fit_pairs(fit->columns));
    struct heads heads;
    add_windows(fit->batch[group], size, (words *)words_of(fit, group), &heads);
    add_heads(fit, group, &heads);
    fit->batched[group] = 0;
    fit->batch_part[group] = 0;
}

/* The window follows those in the batch of its group, and becomes part of the batch in
 * fit_take_inner. */
void fit_begin_inner(struct fit *fit, struct fit_inner *w, size_t count)
{
    size_t group = w->group = group_of(w->end), columns = (count + 3) / 4;
    size_t size = HEAD + columns + FIT_ESTIMATES * count;
    size_t most = fit->room > SMALL_ROOM ? BATCH : SMALL_BATCH;
    if (fit->batch[group] == NULL)
        fit->batch[group] = mem_zalloc(BATCH, sizeof *fit->batch[group]);
    if (fit->batched[group] + size + LANES > most || fit->batch_part[group] > MAX_BATCHED)
        add_batch(fit, group);
    double *row = fit->batch[group] + fit->batched[group] + HEAD;
    w->column = (uint16_t *)(void *)row;
    for (size_t e = 0; e < FIT_ESTIMATES; e++)
        w->cpu[e] = row + columns + e * count;
}

/* Adds to its batch a window that uses PART of the range of words. */
static void put_batch(struct fit *fit, size_t group, const struct fit_inner *w, double part)
{
    double *head = fit->batch[group] + fit->batched[group];
    head[HEAD_NS] = w->ns;
    head[HEAD_ENERGY] = w->energy;
    head[HEAD_COUNT] = (double)(2 * w->count + w->varies);
    fit->batched[group] += HEAD + (w->count + 3) / 4 + estimates(w->varies) * w->count;
    fit->batch_part[group] += part;
}

void fit_flush(struct fit *fit)
{
    for (size_t g = 0; g < FIT_GROUPS; g++)
        add_batch(fit, g);
    for (size_t g = 0; g < FIT_GROUPS; g++)
        flush_group(fit, g);
}

/* Adds products that few windows have. Kept out of fit_take_inner, which would otherwise save more
 * registers. */
static __attribute__((noinline)) void add_uncertain(struct fit *fit, const struct fit_inner *w)
{
    if (w->variance > 0)
        add_variance(fit, w->ns, w->energy, w->variance);
    if (w->edges > 0)
        subtract_edges(fit, w->group, w);
}

static __attribute__((noinline)) void add_large(struct fit *fit, const struct fit_inner *w)
{
    add_window(fit, w->group, w->ns, w->energy);
    add_exactly(fit, w->group, w);
}

void fit_take_inner(struct fit *fit, const struct fit_inner *w)
{
    double length = fabs(w->ns);
    if (!(length > 0) || !(w->most <= length * MAX_CPUS))
        return;
    if (w->variance > 0 || w->edges > 0)
        add_uncertain(fit, w);
    /* bounds of 2 x x' - (y y' + z z') / 2 */
    double most = w->varies && w->most_of_each > w->most ? w->most_of_each : w->most;
    double cpus = most / length, ns = 3 * most * (cpus > 1 ? cpus : 1);
    double joule = 3 * cpus * fabs(w->energy);
    double part = ns * NS_PART > joule * JOULE_PART ? ns * NS_PART : joule * JOULE_PART;
    double square = w->energy * (w->energy / length);
    if (!(part < MAX_PART) || !(length < MAX_NS) || !(fabs(w->energy) < MAX_J) ||
        !(square < MAX_J)) { /* the products are too large for words */
        add_large(fit, w);
        return;
    }
    put_batch(fit, w->group, w, part);
}

void fit_take_weighted(struct fit *fit, struct fit_inner *w, double weight)
{
    for (size_t e = 0; e < FIT_ESTIMATES; e++)
        for (size_t i = 0; i < w->count; i++)
            w->cpu[e][i] *= weight;
    w->ns *= weight;
    w->energy *= weight;
    w->most *= fabs(weight);
    w->most_of_each *= fabs(weight);
    fit_take_inner(fit, w);
}

void fit_add_ends(struct fit *fit, uint16_t column, double square)
{
    add_product(fit, fit_sum(fit, FIT_ENDS, column, column), square, TIME_SHIFT);
}

/* Sorts the columns of a window in ascending order. */
static void sort_columns(const struct fit_window *w, size_t *order)
{
    for (size_t i = 0; i < w->count; i++) {
        size_t at = i;
        for (; at > 0 && w->column[order[at - 1]] > w->column[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

void fit_take(struct fit *fit, const struct fit_window *w)
{
    size_t order[FIT_COLUMNS];
    struct fit_inner inner = {.ns = (double)w->ns / FIT_TICK,
                              .energy = exact_approximate(w->energy, ENERGY_SHIFT),
                              .variance = w->variance,
                              .edges = w->edges,
                              .end = w->end};
    if (!is_usable(w))
        return;
    sort_columns(w, order);
    fit_begin_inner(fit, &inner, w->count);
    for (size_t i = 0; i < w->count; i++) {
        const int64_t *cpu = w->cpu[order[i]];
        fit_inner_put(&inner, w->column[order[i]], (double)cpu[0] / FIT_TICK,
                      (double)cpu[1] / FIT_TICK, (double)cpu[2] / FIT_TICK);
    }
    fit_take_inner(fit, &inner);
}
