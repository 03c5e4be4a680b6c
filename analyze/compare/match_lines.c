/* Moved lines: finds the best series of shifts by dynamic programming over the lines (Viterbi).
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/compare/match.h"
#include "base/memory.h"
#include "base/ranked.h"
#include "base/search.h"

enum { SHIFTS = 32, HEAVY = 256 /* lines that propose shifts */ };

struct shift {
    int64_t by;
    double score; /* common weight if all lines are shifted by this */
};

static int by_shift(const void *left, const void *right)
{
    const struct shift *a = left, *b = right;
    return (a->by > b->by) - (a->by < b->by);
}

/* Sorts by score, largest first, then by shift, smallest first: lines stay in place unless moving
 * them is better. */
static int by_score(const void *left, const void *right)
{
    const struct shift *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    int64_t x = a->by < 0 ? -a->by : a->by, y = b->by < 0 ? -b->by : b->by;
    return x != y ? (x > y) - (x < y) : by_shift(left, right);
}

/* The heaviest lines, at most HEAVY, by their shares. The caller frees them. */
static struct ranked *heaviest(const struct line_weight *lines, size_t *count, double total)
{
    struct ranked *sorted = mem_zalloc(*count, sizeof *sorted);
    for (size_t i = 0; i < *count; i++)
        sorted[i] = (struct ranked){lines[i].weight / total, lines[i].line};
    ranked_sort(sorted, *count);
    *count = *count < HEAVY ? *count : HEAVY;
    return sorted;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Joins neighbours with the same shift, and adds their scores. Returns how many remain. */
static size_t join_equal(struct shift *all, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && all[kept - 1].by == all[i].by)
            all[kept - 1].score += all[i].score;
        else
            all[kept++] = all[i];
    }
    return kept;
}

/* One side of an alignment. */
struct lines {
    const struct line_weight *at;
    size_t count;
    double total; /* of the weights */
};

/* The best single shifts, which always include 0, in ascending order. Returns how many there
 * are. */
static size_t propose(const struct lines *base, const struct lines *other, int64_t *shifts)
{
    size_t n = base->count, m = other->count, count = 0;
    struct ranked *a = heaviest(base->at, &n, base->total);
    struct ranked *b = heaviest(other->at, &m, other->total);
    struct shift *all = mem_zalloc(n * m + 1, sizeof *all);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            all[count++] =
                (struct shift){(int64_t)(b[j].index - a[i].index), least(a[i].amount, b[j].amount)};
    all[count++] = (struct shift){0, 2}; /* higher than any other score */
    qsort(all, count, sizeof *all, by_shift);
    count = join_equal(all, count);
    qsort(all, count, sizeof *all, by_score);
    count = count < SHIFTS ? count : SHIFTS;
    qsort(all, count, sizeof *all, by_shift);
    for (size_t i = 0; i < count; i++)
        shifts[i] = all[i].by;
    free(a);
    free(b);
    free(all);
    return count;
}

static size_t find_line(const struct lines *lines, uint64_t line)
{
    size_t at = SEARCH_FROM(lines->at, lines->count, line, line);
    return at < lines->count && lines->at[at].line == line ? at : NO_PARTNER;
}

static double total_of(const struct line_weight *lines, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += lines[i].weight;
    return total;
}

static double gain(const struct lines *base, const struct lines *other, size_t i, int64_t shift)
{
    size_t j = find_line(other, base->at[i].line + (uint64_t)shift);
    return j == NO_PARTNER
               ? 0
               : least(base->at[i].weight / base->total, other->at[j].weight / other->total);
}

/* The best score up to line I - 1 if line I is shifted by SHIFTS[k]. The order of lines is kept if
 * a backward step is shorter than the distance APART between the lines. */
static double best_before(const double *score, const int64_t *shifts, size_t count, size_t k,
                          uint64_t apart, uint8_t *from)
{
    double best = -INFINITY;
    for (size_t l = 0; l < count; l++) {
        double value = score[l] - (l == k ? 0 : MATCH_SHIFT_COST);
        if ((shifts[l] <= shifts[k] || (uint64_t)(shifts[l] - shifts[k]) < apart) && value > best) {
            best = value;
            *from = (uint8_t)l;
        }
    }
    return best;
}

/* Follows the best series backwards from the last line. */
static void trace_back(const struct lines *base, const struct lines *other, const int64_t *shifts,
                       const uint8_t *from, size_t last, size_t *partner)
{
    for (size_t i = base->count; i-- > 0;) {
        partner[i] = find_line(other, base->at[i].line + (uint64_t)shifts[last]);
        last = from[i * SHIFTS + last];
    }
}

void match_lines(const struct line_weight *base_lines, size_t n,
                 const struct line_weight *other_lines, size_t m, size_t *partner)
{
    struct lines base = {base_lines, n, total_of(base_lines, n)};
    struct lines other = {other_lines, m, total_of(other_lines, m)};
    int64_t shifts[SHIFTS] = {0};
    double score[SHIFTS], next[SHIFTS];
    if (n == 0)
        return;
    base.total = base.total > 0 ? base.total : 1; /* without any weight, lines stay in place */
    other.total = other.total > 0 ? other.total : 1;
    size_t count = propose(&base, &other, shifts), best = 0;
    uint8_t *from = mem_zalloc(n, SHIFTS);
    for (size_t k = 0; k < count; k++)
        score[k] = gain(&base, &other, 0, shifts[k]) - (shifts[k] == 0 ? 0 : MATCH_SHIFT_COST);
    for (size_t i = 1; i < n; i++) {
        uint64_t apart = base.at[i].line - base.at[i - 1].line;
        for (size_t k = 0; k < count; k++)
            next[k] = best_before(score, shifts, count, k, apart, &from[i * SHIFTS + k]) +
                      gain(&base, &other, i, shifts[k]);
        for (size_t k = 0; k < count; k++)
            score[k] = next[k];
    }
    for (size_t k = 1; k < count; k++)
        if (score[k] > score[best])
            best = k;
    trace_back(&base, &other, shifts, from, best, partner);
    free(from);
}
