/* The sums over the windows of the power sensor, from which least squares determine the power of
 * each row.
 *
 * A window lasts from one update of the sensor to the next. In the time d of a window, the sensor
 * measured the energy E, and row k used the CPU time c_k. The powers p in E = p_0 d + sum p_k c_k
 * follow from the sums, over all windows, of the products of d, E and c_k, each divided by d. The
 * CPU times are estimated from program counters, and the errors of these estimates make their
 * products too large. Each CPU time is therefore estimated three times: from all samples (x), from
 * samples with even numbers (y), and from samples with odd numbers (z). The variance of an estimate
 * from half of the samples is twice as large, so that
 *
 *   2 x x' - (y y' + z z') / 2
 *
 * is unbiased. Sums are kept for groups of windows; the errors of the powers are computed by
 * leaving out one group at a time. All sums are integers, so that the order of windows does not
 * matter.
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
    FIT_GROUPS = PBIN_FIT_GROUPS - 1, /* another group has uncorrected minus corrected sums */
    FIT_ENDS = PBIN_FIT_GROUPS,       /* what fit_add_ends adds, until fit_end */
    FIT_SETS,
    FIT_BLOCK = 128, /* samples; windows that end in the same block are in the same group */
    FIT_TIME = PBIN_FIT_TIME, /* columns: d, E, rows without a column, first row */
    FIT_ENERGY = PBIN_FIT_ENERGY,
    FIT_REST = PBIN_FIT_REST,
    FIT_ROW = PBIN_FIT_ROW,
    FIT_WAITS = FIT_ENERGY, /* in a stretch: the time in which threads wait; in no window */
    FIT_COLUMNS = 256,      /* rows beyond these share FIT_REST */
    FIT_ESTIMATES = 3,
    FIT_WORD = 64,  /* [bits] */
    FIT_TICK = 1024 /* per ns: the CPU times of a window are also integers */
};
#define FIT_NONE UINT16_MAX

/* A window, or part of one. */
struct fit_window {
    int64_t ns;       /* [ns / FIT_TICK] */
    exact energy;     /* [2^-80 J] */
    double variance;  /* of NS, because leaps happen at unknown moments [ns^2] */
    double edges;     /* of the moments where it begins and ends, if its power is known [ns^2] */
    bool any;         /* not empty */
    bool bad;         /* incomplete or unusable */
    uint64_t end;     /* number of its last sample */
    size_t count;     /* columns */
    uint16_t *column; /* [count] */
    int64_t (*cpu)[FIT_ESTIMATES]; /* [count] [ns / FIT_TICK] */
    uint16_t at[FIT_COLUMNS];      /* index of a column in COLUMN and CPU, or FIT_NONE */
    size_t column_capacity, cpu_capacity;
};

/* The ways in which the samples of a stretch form windows. */
enum fit_mode { FIT_NOTHING, FIT_EACH, FIT_POWERS, FIT_LEAPS };

struct fit_entry;
struct fit_regular;

/* A window within one stretch, in doubles [ns] [J] [ns^2]. */
struct fit_inner {
    double ns, energy, variance, edges;
    uint64_t end;
    size_t group; /* set by fit_begin_inner */
    size_t count;
    bool varies;               /* the estimates of some CPU times differ */
    double most, most_of_each; /* the highest CPU time, and the highest magnitude of any estimate */
    uint16_t *column;          /* [count], ascending, at least FIT_REST */
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
    uint32_t row[FIT_COLUMNS]; /* [columns], set from FIT_ROW */
    exact cpu[FIT_COLUMNS];    /* in all windows, including incomplete ones [2^-32 ns] */
    /* Sums of the squares of intervals that begin in one row and end in another [ns^2]. Of
     * FIT_TIME: the number of complete windows. Of FIT_WAITS: the same squares for waiting, in
     * recordings without CPU times. */
    exact switched[FIT_COLUMNS];
    exact *sums;                   /* see fit_sum */
    uint64_t squares[FIT_COLUMNS]; /* SWITCHED of one stretch, if its intervals are short */
    size_t room;                   /* columns for which SUMS has room */
    uint16_t *column_of;           /* [rows]: column of each row, or FIT_NONE */
    size_t rows, row_capacity;
    bool overflow;
    /* Products added since fit_flush, in machine words, two for each of SUMS; see fit_sums.c. */
    int64_t *words;
    size_t words_room;         /* as ROOM */
    double *batch[FIT_GROUPS]; /* windows that are not yet in WORDS, as doubles */
    size_t batched[FIT_GROUPS];
    /* The part of the largest word that the words of a group may have reached, and the part that
     * its batch may add. */
    double used[FIT_GROUPS], batch_part[FIT_GROUPS];
    /* Successive samples of a thread that used CPU time, and those of them with equal CPU times but
     * different intervals, which show that CPU times are averages. Counted in the profiles read;
     * not part of merged sums. */
    uint64_t running, averaged;
    uint64_t
        updates; /* of the sensor in the profiles read: ends of windows, before any are joined */
    /* used while a profile is read */
    struct fit_excess excess;
    struct fit_own own;
    bool divided; /* a window has ended; FIRST is the part before that */
    struct fit_window first, open;
    enum fit_mode first_mode, mode; /* of the first and the last stretch */
    double first_rate, rate; /* power at the start of the first and the end of the last stretch */
    uint32_t head[STRETCH_WINDOWS]; /* [windows of a stretch]: list of their entries */
    uint64_t has[STRETCH_WINDOWS][FIT_COLUMNS / FIT_WORD]; /* a bit for each column of a window */
    uint32_t latest[FIT_COLUMNS]; /* [columns]: the entry found last; verified before use */
    struct fit_entry *entries;
    size_t entry_count, entry_capacity;
    uint16_t *of;             /* [thread samples of a stretch]: their columns */
    uint32_t *after, *sample; /* [thread samples]: the next one of the thread; its sample */
    bool *paired;             /* [thread samples]: their variance is corrected */
    size_t of_capacity, after_capacity, sample_capacity, paired_capacity;
    struct fit_times times;
    struct fit_seen seen;
    bool waits_unknown;          /* in this stretch, waiting times are known only from samples */
    struct fit_regular *regular; /* see fit_regular.c */
    double *regular_room;
    size_t regular_capacity;
};

struct fit *fit_new(void);
void fit_delete(struct fit *fit); /* NULL is allowed */

/* Adds the next stretch of a profile. VIEW is only used during the call. */
void fit_add_stretch(struct fit *fit, const struct fit_view *view);

/* Adds LATER, the next part of the same profile, to FIT. Row I of LATER is row ROW[I] of FIT. */
void fit_join(struct fit *fit, struct fit *later, const uint32_t *row);

/* Ends the profile. Its first and last windows are incomplete, and are left out of the sums of
 * products. */
void fit_end(struct fit *fit);

/* Adds FROM, the sums of other profiles, to TO. Row I of FROM is row ROW[I] of TO (NULL: row I). */
void fit_merge(struct fit *to, const struct fit *from, const uint32_t *row);

/* The column of ROW. The first call assigns it; FIT_REST if all columns are taken. */
uint16_t fit_column(struct fit *fit, uint32_t row);

static inline size_t fit_pairs(size_t columns)
{
    return columns * (columns + 1) / 2;
}

/* The sum of the products of columns A and B in GROUP [2^-32 ns; with FIT_ENERGY: 2^-80 J; of
 * FIT_ENERGY with itself: 2^-80 J^2/ns]. */
static inline exact *fit_sum(const struct fit *fit, size_t group, size_t a, size_t b)
{
    size_t high = a > b ? a : b, low = a > b ? b : a;
    return &fit->sums[group * fit_pairs(fit->room) + fit_pairs(high) + low];
}

/* Adds VALUE to SUM; sets OVERFLOW if the result is too large. */
static inline void fit_put(struct fit *fit, exact *sum, exact value)
{
    fit->overflow |= __builtin_add_overflow(*sum, value, sum);
}

/* Adds VALUE, a sum of the products of two columns that are now A and B. DIFFERENT: they were
 * different columns before, even if A equals B. */
void fit_put_pair(struct fit *fit, size_t group, size_t a, size_t b, bool different, exact value);

/* Used by fit*.c: decides how the next part of a profile, which has MODE and begins with the power
 * RATE, follows the part so far, and ends the open window unless it continues. */
void fit_cross_edge(struct fit *fit, enum fit_mode mode, double rate);

/* Add time, energy and CPU time to the open window, and end it. */
void fit_extend(struct fit *fit, const struct fit_window *part);
void fit_extend_cpu(struct fit *fit, uint16_t column, const int64_t *cpu);
void fit_end_window(struct fit *fit, bool bad);

/* Add the products of a complete window; they are in SUMS only after fit_flush. For an inner
 * window, END must be set, and fit_begin_inner provides memory for up to COUNT columns, which is
 * valid until its next call. */
void fit_take(struct fit *fit, const struct fit_window *window);
void fit_begin_inner(struct fit *fit, struct fit_inner *window, size_t count);
void fit_take_inner(struct fit *fit, const struct fit_inner *window);
/* The same for WEIGHT, which may be negative, times the products. Changes WINDOW. */
void fit_take_weighted(struct fit *fit, struct fit_inner *window, double weight);

/* Records that the square of COLUMN may still contain SQUARE [ns], because of errors at the ends of
 * windows. */
void fit_add_ends(struct fit *fit, uint16_t column, double square);
void fit_flush(struct fit *fit);

#endif
