/* Sums over the windows of the power sensor, from which least squares find the power of each row.
 *
 * In a window, from one update of the sensor to the next, the sensor measured the energy E in the time d, and row k
 * used the CPU time c_k. The powers p of E = p_0 d + sum p_k c_k follow from sums of products of d, E and c_k, each
 * divided by d, over all windows. The CPU times are estimated from program counters, and the errors of these estimates
 * make products of them too large. Each CPU time is therefore estimated three times: from all samples (x), from samples with
 * odd numbers (y), and from samples with even numbers (z). The variance of estimates from half of the samples is twice as
 * large, so that
 *
 *   2 x x' - (y y' + z z') / 2
 *
 * is unbiased. Sums are kept for groups of windows; the errors of the powers are computed by leaving out one group at
 * a time. All sums are integers: the order of windows does not matter.
 *
 *   fit_add_stretch(fit, &view) ...     the samples of a profile in order
 *   fit_end(fit)                        after the last
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_H
#define ANALYZE_ATTRIBUTE_FIT_H

#include <math.h>

#include "analyze/attribute/fit_excess.h"
#include "analyze/attribute/fit_own.h"
#include "analyze/attribute/fit_seen.h"
#include "analyze/attribute/fit_times.h"
#include "analyze/attribute/rowset.h"
#include "analyze/attribute/stretch.h"

enum {
    FIT_GROUPS = PBIN_FIT_GROUPS - 1, /* one more has uncorrected minus corrected sums */
    FIT_BLOCK = 128, /* samples; windows that end in the same block are in the same group */
    FIT_TIME = PBIN_FIT_TIME, /* columns: d, E, all rows without a column, rows */
    FIT_ENERGY = PBIN_FIT_ENERGY,
    FIT_REST = PBIN_FIT_REST,
    FIT_ROW = PBIN_FIT_ROW,
    FIT_WAITS = FIT_ENERGY, /* of a stretch: time in which a thread waits; no window has it */
    FIT_COLUMNS = 256,      /* further rows have none */
    FIT_ESTIMATES = 3,
    FIT_WORD = 64,  /* bits */
    FIT_TICK = 1024 /* per ns: CPU times of a window are integers, too */
};
#define FIT_NONE UINT16_MAX

/* A window, or a part of one. */
struct fit_window {
    int64_t ns;       /* [1/FIT_TICK ns] */
    exact energy;     /* [2^-80 J] */
    double variance;  /* of the time, as the moments of leaps are not known [ns^2] */
    double edges;     /* the same for where it begins and ends, if its power is known [ns^2] */
    bool any;         /* it is not empty */
    bool bad;         /* not complete, or not usable */
    uint64_t end;     /* number of its last sample */
    size_t count;     /* columns */
    uint16_t *column; /* [count] */
    int64_t (*cpu)[FIT_ESTIMATES]; /* [count] [1/FIT_TICK ns] */
    uint16_t at[FIT_COLUMNS];      /* index of a column in COLUMN and CPU, or FIT_NONE */
    size_t column_capacity, cpu_capacity;
};

/* How the samples of a stretch form windows. */
enum fit_mode { FIT_NOTHING, FIT_EACH, FIT_POWERS, FIT_LEAPS };

struct fit_entry;
struct fit_regular;

/* A window in doubles [ns] [J] [ns^2]. */
struct fit_inner {
    double ns, energy, variance, edges;
    uint64_t end;
    size_t group; /* set by fit_begin_inner */
    size_t count;
    bool varies; /* the estimates of some CPU times differ */
    double most,
        most_of_each; /* CPU times: the highest, and the highest absolute value of any estimate */
    uint16_t *column; /* [count], ascending, at least FIT_REST */
    double *cpu[FIT_ESTIMATES]; /* [count] */
};

/* Adds COLUMN with the estimates X, Y and Z. */
static inline void fit_inner_put(struct fit_inner *inner, uint16_t column, double x, double y,
                                 double z)
{
    size_t i = inner->count++;
    inner->column[i] = column;
    inner->cpu[0][i] = x;
    inner->cpu[1][i] = y;
    inner->cpu[2][i] = z;
    inner->varies |= (x != y) | (x != z);
    inner->most = x > inner->most ? x : inner->most;
    y = fabs(y) > fabs(z) ? fabs(y) : fabs(z);
    inner->most_of_each = y > inner->most_of_each ? y : inner->most_of_each;
}

struct fit {
    size_t columns;            /* at least FIT_ROW */
    uint32_t row[FIT_COLUMNS]; /* of columns, beginning with FIT_ROW */
    exact cpu[FIT_COLUMNS];    /* in all windows, complete or not [2^-32 ns] */
    /* squares of intervals that end in a row other than that in which they begin [ns^2]; of FIT_TIME: the number of complete windows;
     * of FIT_WAITS: the same for waiting, in recordings without CPU times */
    exact switched[FIT_COLUMNS];
    exact *sums;                   /* see fit_sum */
    uint64_t squares[FIT_COLUMNS]; /* SWITCHED of one stretch, of short intervals */
    size_t room;                   /* columns for which SUMS has room */
    uint16_t *column_of;           /* by row: its column, or FIT_NONE */
    size_t rows, row_capacity;
    bool overflow;
    /* What has been added since fit_flush, in machine words, two for each of SUMS; see fit_sums.c. */
    int64_t *words;
    size_t words_room;         /* as ROOM */
    double *batch[FIT_GROUPS]; /* windows that have not been added to WORDS, and their doubles */
    size_t batched[FIT_GROUPS];
    /* Part of the largest word that the words of a group may have reached, and that its batch may add. */
    double used[FIT_GROUPS], batch_part[FIT_GROUPS];
    /* Successive samples of a thread that used CPU time; and those with equal CPU times although
     * their intervals differ, which shows that CPU times are averages. Counted in the profiles
     * read, not in merged sums. */
    uint64_t running, averaged;
    uint64_t
        updates; /* of the sensor in the profiles read: ends of windows before some are joined */
    /* while a profile is read */
    struct fit_excess excess;
    struct fit_own own;
    bool divided; /* a window has ended, and FIRST is what precedes it */
    struct fit_window first, open;
    enum fit_mode first_mode, mode; /* of the first and of the last stretch */
    double first_rate, rate; /* power at the beginning of the first, and at the end of the last */
    uint32_t head[STRETCH_WINDOWS]; /* by window of a stretch: list of its entries */
    uint64_t has[STRETCH_WINDOWS]
                [FIT_COLUMNS / FIT_WORD]; /* the same: a bit for each column in it */
    uint32_t
        latest[FIT_COLUMNS]; /* by column: the entry that was found last; verified before use */
    struct fit_entry *entries;
    size_t entry_count, entry_capacity;
    uint16_t *of;             /* by thread sample of a stretch: its column */
    uint32_t *after, *sample; /* by thread sample: the next of the same thread; its sample */
    bool *paired;             /* by thread sample: its variance is corrected */
    size_t of_capacity, after_capacity, sample_capacity, paired_capacity;
    struct fit_times times;
    struct fit_seen seen;
    bool waits_unknown; /* of the stretch: how long threads wait is only known from samples */
    struct fit_regular *regular; /* see fit_regular.c */
    double *regular_room;
    size_t regular_capacity;
};

struct fit *fit_new(void);
void fit_delete(struct fit *fit); /* NULL is allowed */

/* Adds the next stretch of a profile; VIEW is borrowed during the call. */
void fit_add_stretch(struct fit *fit, const struct fit_view *view);

/* Adds LATER, the next part of the same profile, to FIT; row I of LATER is row ROW[I] of FIT. */
void fit_join(struct fit *fit, struct fit *later, const uint32_t *row);

/* Ends the profile; its first and last windows are incomplete. */
void fit_end(struct fit *fit);

/* Adds the sums of FROM, of other profiles; row I of FROM is row ROW[I] (NULL: row I). */
void fit_merge(struct fit *to, const struct fit *from, const uint32_t *row);

/* The column of ROW, which is assigned at the first call; FIT_REST if all columns are taken. */
uint16_t fit_column(struct fit *fit, uint32_t row);

static inline size_t fit_pairs(size_t columns)
{
    return columns * (columns + 1) / 2;
}

/* The sum of products of columns A and B in GROUP [2^-32 ns; with FIT_ENERGY 2^-80 J; of FIT_ENERGY and itself 2^-80 J^2/ns]. */
static inline exact *fit_sum(const struct fit *fit, size_t group, size_t a, size_t b)
{
    size_t high = a > b ? a : b, low = a > b ? b : a;
    return &fit->sums[group * fit_pairs(fit->room) + fit_pairs(high) + low];
}

/* Adds VALUE to SUM; sets OVERFLOW if that is too large. */
static inline void fit_put(struct fit *fit, exact *sum, exact value)
{
    fit->overflow |= __builtin_add_overflow(*sum, value, sum);
}

/* Adds a sum of products of two columns that are now A and B; DIFFERENT: they were different columns before. */
void fit_put_pair(struct fit *fit, size_t group, size_t a, size_t b, bool different, exact value);

/* Internal to fit*.c: how the next part of a profile continues the part so far. */
void fit_cross_edge(struct fit *fit, enum fit_mode mode, double rate);

/* Add to the open window, and end it. */
void fit_extend(struct fit *fit, const struct fit_window *part);
void fit_extend_cpu(struct fit *fit, uint16_t column, const int64_t *cpu);
void fit_end_window(struct fit *fit, bool bad);

/* Add the products of a complete window, which are not in SUMS before fit_flush. The columns of an inner window, with END and
 * at most COUNT of them, are put in the memory that fit_begin_inner provides up to the next call. */
void fit_take(struct fit *fit, const struct fit_window *window);
void fit_begin_inner(struct fit *fit, struct fit_inner *window, size_t count);
void fit_take_inner(struct fit *fit, const struct fit_inner *window);
void fit_flush(struct fit *fit);

#endif
