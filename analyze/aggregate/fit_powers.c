/* The power of each row by least squares.
 *
 * The unknowns are the powers of columns. Columns that cannot be distinguished are joined, and
 * share one power.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/fit_powers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/least_squares.h"
#include "analyze/statistics/welch.h"
#include "base/memory.h"
#include "base/ranked.h"

/* Columns count as equal if the smallest eigenvalue of their correlations is below SAME. A power is
 * unknown if its 95 % interval is wider than +-WIDE times the mean power (IDLE_WIDE for idle
 * time). */
#define SAME      1e-6
#define WIDE      1.0
#define IDLE_WIDE 0.2
/* A row with less than this part of the time of a similar row does not make the power of that row
 * unknown. */
#define SMALL_TIME 0.1
/* Idle power is known not to be part of the power of rows if more than this part of the variance of
 * time is not explained by CPU times. */
#define MIN_IDLE 0.01
/* A row is part of what cannot be distinguished if its component exceeds this part of the largest. */
#define INVOLVED 0.2
/* The smallest standard error of an unknown power, as part of the mean power. */
#define FIXED_ERROR 0.5
/* Powers are computed again with a correction that is larger by the part MORE_CORRECTION. If that
 * has no solution, CPU times are mostly chance, because functions are much shorter than the time
 * between samples. CORRECTION_ERROR is the remaining standard error, as part of the resulting
 * change; it was found by simulations (tests/bench/truth.py). */
#define MORE_CORRECTION  1.0
#define CORRECTION_ERROR 0.2
/* The variance of the time of an interval that begins in one row and ends in another, as part of
 * its square. If rows stay for many intervals, the change can be anywhere in it. If each sample is
 * in another row, chance assigns to a row half of two intervals at a time, which have an
 * exponential distribution. */
#define LONG_STAY_VARIANCE  (1.0 / 12)
#define SHORT_STAY_VARIANCE (3.0 / 8)

/* The variance of an energy is at least MIN_VARIANCE times the sum of those of time and power, and
 * at most a multiple of that of the jackknife, which depends on its degrees of freedom. */
#define MIN_VARIANCE 0.25
#define MAX_KNOWN    100.0

/* Added to the correlations of columns that may not be distinguishable. */
#define RIDGE 1e-6

/* Rows with less than 1/RARE of the CPU time share one power; so do rows beyond FIT_MAX_ROWS. */
enum { RARE = 1000 };

enum { UNCORRECTED = FIT_GROUPS, SETS = PBIN_FIT_GROUPS };

/* Column 0 is idle time; the others are rows, and the last may be all remaining rows. */
struct problem {
    struct lapack *lapack;
    size_t columns, own; /* columns at and after OWN belong to several rows */
    uint16_t *from;      /* [fit->columns]: column for each column of the sums, or FIT_NONE */
    uint16_t *first;     /* [columns]: a column of the sums */
    uint16_t *like;      /* [columns]: one that it was joined with, or FIT_NONE */
    uint16_t *unknown;   /* [columns]: number of its unknown; FIT_NONE: it has the power FIXED */
    double *fixed;       /* [columns] [J/ns] */
    size_t unknowns;
    double *s[SETS], *b[SETS]; /* by group: products of columns [ns], and with energy [J] */
    double *products;          /* [columns x columns]: S summed over groups, corrected [ns] */
    double *cpu_ns;            /* [columns]: CPU time in windows */
    double time;               /* of all windows [ns] */
    double squares;            /* sum over windows of energy^2 / time [J^2/ns] */
    double leaps; /* part of the rest, because leaps happen at unknown moments [J^2/ns] */
    bool waits;   /* it is not exactly known when rows wait and when they run */
    double mean;  /* power of CPU time without idle power [J/ns] */
    double gross; /* the same, including idle power */
    /* arrays of the unknowns, scaled to correlations */
    double *scale, *matrix, *side, *power, *error, *covariance;
    double *work, *parts; /* n x n; SETS x n */
};

/* ---- columns ---- */

/* Rows with much CPU time have columns of their own, starting at 1; all others share the last. */
static void choose_columns(struct problem *p, const struct fit *fit)
{
    struct ranked rank[FIT_COLUMNS];
    size_t ranks = 0;
    exact least = fit->cpu[FIT_REST] / RARE;
    for (size_t c = FIT_ROW; c < fit->columns; c++)
        least += fit->cpu[c] > 0 ? fit->cpu[c] / RARE : 0;
    for (size_t c = FIT_ROW; c < fit->columns; c++)
        if (fit->cpu[c] > 0)
            rank[ranks++] = (struct ranked){(double)fit->cpu[c], c};
    ranked_sort(rank, ranks);
    p->columns = 1;
    for (size_t c = 0; c < fit->columns; c++)
        p->from[c] = FIT_NONE;
    p->from[FIT_TIME] = 0;
    p->first[0] = FIT_TIME;
    size_t own = 0;
    while (own < ranks && own < FIT_MAX_ROWS && fit->cpu[rank[own].index] >= least)
        own++;
    for (size_t r = 0; r < own; r++) {
        p->first[p->columns] = (uint16_t)rank[r].index;
        p->from[rank[r].index] = (uint16_t)p->columns++;
    }
    p->own = p->columns;
    if (fit->cpu[FIT_REST] <= 0 && ranks == own)
        return;
    p->first[p->columns] = ranks == own ? FIT_REST : (uint16_t)rank[own].index;
    p->from[FIT_REST] = (uint16_t)p->columns;
    for (size_t r = own; r < ranks; r++)
        p->from[rank[r].index] = (uint16_t)p->columns;
    p->columns++;
}

/* Rows that share a column are added up as integers, so that their order does not matter. */
static void add_sums(struct problem *p, const struct fit *fit, size_t set)
{
    size_t n = p->columns;
    exact *s = mem_zalloc(n * n + n, sizeof *s), *b = s + n * n;
    for (size_t a = 0; a < fit->columns; a++) {
        if (p->from[a] == FIT_NONE || a == FIT_ENERGY)
            continue;
        size_t i = p->from[a];
        b[i] += *fit_sum(fit, set, a, FIT_ENERGY);
        for (size_t c = 0; c <= a; c++) {
            if (p->from[c] == FIT_NONE || c == FIT_ENERGY)
                continue;
            size_t j = p->from[c];
            s[i * n + j] += *fit_sum(fit, set, a, c);
            if (a != c)
                s[j * n + i] += *fit_sum(fit, set, a, c);
        }
    }
    for (size_t i = 0; i < n * n; i++)
        p->s[set][i] = exact_approximate(s[i], TIME_SHIFT);
    for (size_t i = 0; i < n; i++)
        p->b[set][i] = exact_approximate(b[i], ENERGY_SHIFT);
    free(s);
}

static void *new_values(size_t count)
{
    return mem_zalloc(count + 1, sizeof(double));
}

/* The products and CPU times are needed for each triple of columns. */
static void add_groups(struct problem *p)
{
    size_t n = p->columns;
    p->products = new_values(n * n);
    p->cpu_ns = new_values(n);
    for (size_t g = 0; g < FIT_GROUPS; g++) {
        for (size_t i = 0; i < n * n; i++)
            p->products[i] += p->s[g][i];
        for (size_t c = 0; c < n; c++)
            p->cpu_ns[c] += fmax(0, p->s[g][c * n]);
    }
}

/* Initializes P for FIT, and takes ownership of LAPACK. */
static void start(struct problem *p, const struct fit *fit, struct lapack *lapack)
{
    size_t most = FIT_MAX_ROWS + 2;
    *p = (struct problem){.lapack = lapack};
    p->from = mem_zalloc(fit->columns, sizeof *p->from);
    p->first = mem_zalloc(3 * most, sizeof *p->first);
    p->like = p->first + most;
    p->unknown = p->like + most;
    choose_columns(p, fit);
    p->waits = fit->switched[FIT_ENERGY] > 0;
    size_t n = p->columns;
    for (size_t set = 0; set < SETS; set++) {
        p->s[set] = new_values(n * n);
        p->b[set] = new_values(n);
        add_sums(p, fit, set);
        if (set == UNCORRECTED) {
            p->leaps = exact_approximate(*fit_sum(fit, set, FIT_ENERGY, FIT_ENERGY), ENERGY_SHIFT);
            continue;
        }
        p->time += p->s[set][0];
        p->squares += exact_approximate(*fit_sum(fit, set, FIT_ENERGY, FIT_ENERGY), ENERGY_SHIFT);
    }
    add_groups(p);
    p->fixed = new_values(n);
    p->scale = new_values(n);
    p->side = new_values(n);
    p->power = new_values(n);
    p->error = new_values(n);
    p->matrix = new_values(n * n);
    p->covariance = new_values(n * n);
    p->work = new_values(n * n);
    p->parts = new_values(SETS * n);
    for (size_t c = 0; c < n; c++) {
        p->like[c] = FIT_NONE;
        p->unknown[c] = (uint16_t)c;
    }
    p->unknowns = n;
}

static void end(struct problem *p)
{
    for (size_t set = 0; set < SETS; set++) {
        free(p->s[set]);
        free(p->b[set]);
    }
    free(p->products);
    free(p->cpu_ns);
    free(p->from);
    free(p->first);
    free(p->fixed);
    free(p->scale);
    free(p->side);
    free(p->power);
    free(p->error);
    free(p->matrix);
    free(p->covariance);
    free(p->work);
    free(p->parts);
    lapack_close(p->lapack);
}

/* ---- unknowns ---- */

/* Adds SIGN times the sums of SET to MATRIX and SIDE, by unknown. */
static void collect(const struct problem *p, size_t set, double sign, double *matrix, double *side)
{
    size_t n = p->columns, m = p->unknowns;
    for (size_t i = 0; i < n; i++) {
        if (p->unknown[i] == FIT_NONE)
            continue;
        side[p->unknown[i]] += sign * p->b[set][i];
        for (size_t j = 0; j < n; j++)
            if (p->unknown[j] != FIT_NONE)
                matrix[p->unknown[i] * m + p->unknown[j]] += sign * p->s[set][i * n + j];
            else
                side[p->unknown[i]] -= sign * p->s[set][i * n + j] * p->fixed[j];
    }
}

static void scale(const struct problem *p, double *matrix, double *side)
{
    size_t m = p->unknowns;
    for (size_t i = 0; i < m; i++) {
        side[i] *= p->scale[i];
        for (size_t j = 0; j < m; j++)
            matrix[i * m + j] *= p->scale[i] * p->scale[j];
    }
}

/* Scales the problem so that the diagonal is 1. Returns an unknown whose sum of squares does not
 * exceed its error, or the number of unknowns if there is none. */
static size_t scale_to_correlations(struct problem *p)
{
    size_t m = p->unknowns, lost = m;
    for (size_t i = 0; i < m; i++) {
        double square = p->matrix[i * m + i];
        p->scale[i] = square > 0 ? 1 / sqrt(square) : 0;
        if (!(square > 0) && lost == m)
            lost = i;
    }
    scale(p, p->matrix, p->side);
    return lost;
}

/* Sets up and scales the whole problem. Returns the same as scale_to_correlations. */
static size_t prepare(struct problem *p)
{
    size_t m = p->unknowns;
    memset(p->matrix, 0, m * m * sizeof *p->matrix);
    memset(p->side, 0, m * sizeof *p->side);
    for (size_t g = 0; g < FIT_GROUPS; g++)
        collect(p, g, 1, p->matrix, p->side);
    return scale_to_correlations(p);
}

/* A column that has unknown U: idle time only if no row has it. */
static uint16_t column_of(const struct problem *p, size_t u)
{
    for (uint16_t c = 0; c < p->columns; c++)
        if (p->unknown[c] == u)
            return c;
    return 0;
}

static bool is_idle(const struct problem *p, size_t u)
{
    return u == 0 && p->unknown[0] == 0;
}

/* Removes idle power as an unknown. Its energy goes to the other unknowns, of which U is the most
 * similar. */
static void drop_idle(struct problem *p, size_t u)
{
    p->like[0] = column_of(p, u);
    p->unknown[0] = FIT_NONE;
    p->mean = p->gross;
    for (size_t c = 1; c < p->columns; c++)
        if (p->unknown[c] != FIT_NONE)
            p->unknown[c]--;
    p->unknowns--;
}

/* Joins the unknowns U and V. */
static void join(struct problem *p, size_t u, size_t v)
{
    uint16_t a = column_of(p, u), b = column_of(p, v);
    size_t low = u < v ? u : v, high = u < v ? v : u;
    if (is_idle(p, low)) {
        drop_idle(p, high);
        return;
    }
    p->like[a] = p->like[a] == FIT_NONE ? b : p->like[a];
    p->like[b] = p->like[b] == FIT_NONE ? a : p->like[b];
    for (size_t c = 0; c < p->columns; c++)
        if (p->unknown[c] != FIT_NONE && p->unknown[c] >= high)
            p->unknown[c] = (uint16_t)(p->unknown[c] == high ? low : p->unknown[c] - 1u);
    p->unknowns--;
}

/* Fixes unknown U, which cannot be determined, at the mean power. V is the unknown that may become
 * known. */
static void fix(struct problem *p, size_t u, size_t v)
{
    uint16_t like = column_of(p, v);
    if (is_idle(p, u)) {
        drop_idle(p, v);
        return;
    }
    for (size_t c = 0; c < p->columns; c++) {
        if (p->unknown[c] == FIT_NONE || p->unknown[c] < u)
            continue;
        if (p->unknown[c] == u) {
            p->like[c] = p->like[c] == FIT_NONE ? like : p->like[c];
            p->fixed[c] = p->mean;
            p->unknown[c] = FIT_NONE;
        } else {
            p->unknown[c]--;
        }
    }
    p->unknowns--;
}

/* An unknown other than U, if possible that of a row. */
static size_t any_other(const struct problem *p, size_t u)
{
    size_t other = is_idle(p, 0) && p->unknowns > 2 ? 1 : 0;
    return other != u ? other : other + 1;
}

static size_t largest(const double *values, size_t count, size_t but)
{
    size_t best = but == 0 && count > 1 ? 1 : 0;
    for (size_t i = 0; i < count; i++)
        if (i != but && fabs(values[i]) > fabs(values[best]))
            best = i;
    return best;
}

/* ---- errors ---- */

/* Sets PARTS to the powers without each group and, in the last part, from sums that are corrected
 * more. Returns false if one of these has no solution. */
static bool leave_out(struct problem *p)
{
    size_t m = p->unknowns;
    double *side = new_values(m);
    bool solved = true;
    for (size_t set = 0; set < SETS && solved; set++) {
        memset(p->work, 0, m * m * sizeof *p->work);
        memset(side, 0, m * sizeof *side);
        collect(p, set, set == UNCORRECTED ? -MORE_CORRECTION : -1, p->work, side);
        scale(p, p->work, side);
        for (size_t i = 0; i < m * m; i++)
            p->work[i] += p->matrix[i];
        for (size_t i = 0; i < m; i++)
            side[i] += p->side[i];
        solved = solve_symmetric(p->lapack, m, p->work, side, p->parts + set * m);
    }
    free(side);
    return solved;
}

/* The power of COLUMN [J/ns]. */
static double power_of(const struct problem *p, const double *whole, size_t column)
{
    size_t u = p->unknown[column];
    return u == FIT_NONE ? p->fixed[column] : whole[u] * p->scale[u];
}

/* The sum over windows of the squared energy that the powers do not explain, divided by time
 * [J^2/ns]. Errors from counting samples are not included, because the sums are free of them. */
static double difference(const struct problem *p, const double *whole)
{
    double sum = p->squares;
    for (size_t i = 0; i < p->columns; i++) {
        double power = power_of(p, whole, i);
        for (size_t g = 0; g < FIT_GROUPS; g++) {
            sum -= 2 * power * p->b[g][i];
            for (size_t j = 0; j < p->columns; j++)
                sum += power * power_of(p, whole, j) * p->s[g][i * p->columns + j];
        }
    }
    return sum;
}

/* The CPU time of a column in windows [ns]. */
static double cpu_of(const struct problem *p, size_t column)
{
    return p->cpu_ns[column];
}

/* The bias of the powers, scaled, if the errors of the CPU times of windows are large enough to
 * explain the rest. The variance of each error is in proportion to the CPU time of the row. */
static void find_bias(struct problem *p, const double *whole, double *bias)
{
    size_t m = p->unknowns;
    double all = 0, *side = new_values(m);
    for (size_t c = 1; c < p->columns; c++) {
        double cpu = cpu_of(p, c), power = power_of(p, whole, c);
        all += cpu * power * power;
        if (p->unknown[c] != FIT_NONE)
            side[p->unknown[c]] += cpu * power * p->scale[p->unknown[c]];
    }
    /* unknown moments of leaps do not matter: if one window gets too much, the next gets too
     * little */
    double rest = difference(p, whole) - p->leaps;
    double part = all > 0 && p->squares > 0 ? fmax(0, rest) / all : 0;
    for (size_t i = 0; i < m; i++)
        side[i] *= part;
    if (!solve_symmetric(p->lapack, m, p->matrix, side, bias))
        memset(bias, 0, m * sizeof *bias);
    free(side);
}

/* The mean squared error of a power that is assumed to be the mean power. The true power can be
 * between 0 and the power that the rows would have without idle power. If rows cannot be resolved,
 * the mean power is the least certain of all, because errors of CPU times move part of it to idle
 * power. */
static double square_of_fixed(const struct problem *p)
{
    double most = p->gross, mean = p->mean, least = FIXED_ERROR * mean;
    return fmax(least * least, most * most / 3 - most * mean + mean * mean);
}

/* The CPU time of all rows in windows [ns]. */
static double all_cpu(const struct problem *p)
{
    double all = 0;
    for (size_t c = 1; c < p->columns; c++)
        all += cpu_of(p, c);
    return all;
}

/* The least number of processors that the rows use. */
static double processors(const struct problem *p)
{
    return fmax(1, ceil(all_cpu(p) / p->time));
}

/* The sum of the products of COLUMN and the time in which a processor waits [ns]. */
static double product_with_waits(const struct problem *p, size_t column)
{
    const double *products = p->products + column * p->columns;
    double rows = 0;
    for (size_t c = 1; c < p->columns; c++)
        rows += products[c];
    return products[0] - rows / processors(p);
}

/* Adds to SQUARES, the squared errors of powers, the effect of neglecting a power with the mean
 * square UNKNOWN. WITH [columns] are its products with the columns. */
static void add_neglected(const struct problem *p, const double *with, double unknown,
                          double *squares)
{
    size_t m = p->unknowns;
    double *side = new_values(m), *change = new_values(m);
    for (size_t i = 0; i < p->columns; i++)
        if (p->unknown[i] != FIT_NONE)
            side[p->unknown[i]] += with[i] * p->scale[p->unknown[i]];
    if (solve_symmetric(p->lapack, m, p->matrix, side, change))
        for (size_t i = 0; i < m; i++)
            squares[i] += change[i] * change[i] * unknown;
    free(side);
    free(change);
}

/* Adds to SQUARES, the squared errors of powers, the effect of wrong assumptions about unknown
 * powers of rows. If idle power is unknown, the powers of rows include it, but the program may draw
 * anything up to the mean power while it waits. */
static void add_fixed(const struct problem *p, double *squares)
{
    size_t n = p->columns;
    double *with = new_values(n);
    for (size_t c = 1; c < n; c++)
        if (p->unknown[c] == FIT_NONE)
            add_neglected(p, p->products + c * n, square_of_fixed(p), squares);
    if (p->unknown[0] == FIT_NONE) {
        double most = p->gross * all_cpu(p) / p->time;
        for (size_t c = 0; c < n; c++)
            with[c] = product_with_waits(p, c);
        add_neglected(p, with, most * most / 3, squares);
    }
    free(with);
}

/* Sets the variances and covariances of the powers, which are still scaled. */
static void find_errors(struct problem *p, const double *whole)
{
    size_t m = p->unknowns;
    double *bias = new_values(m), *fixed = new_values(m);
    find_bias(p, whole, bias);
    add_fixed(p, fixed);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            double mean_i = 0, mean_j = 0, sum = 0;
            for (size_t g = 0; g < FIT_GROUPS; g++) {
                mean_i += p->parts[g * m + i] / FIT_GROUPS;
                mean_j += p->parts[g * m + j] / FIT_GROUPS;
            }
            for (size_t g = 0; g < FIT_GROUPS; g++)
                sum += (p->parts[g * m + i] - mean_i) * (p->parts[g * m + j] - mean_j);
            p->covariance[i * m + j] = sum * (FIT_GROUPS - 1) / FIT_GROUPS;
        }
        double correction = p->parts[UNCORRECTED * m + i] - whole[i];
        p->error[i] = sqrt(p->covariance[i * m + i] +
                           CORRECTION_ERROR * CORRECTION_ERROR * correction * correction +
                           bias[i] * bias[i] / 4 + fixed[i]);
    }
    free(bias);
    free(fixed);
}

static double quantile(void)
{
    return student_quantile(0.95, FIT_GROUPS - 1);
}

/* Returns whether the idle part of the time differs between windows, so that idle power is not part
 * of the powers of rows. Otherwise, these may include it. */
static bool varies(const struct problem *p)
{
    size_t m = p->unknowns;
    double *one = new_values(m), *inverse = new_values(m);
    memset(p->work, 0, m * m * sizeof *p->work);
    collect(p, UNCORRECTED, 1, p->work,
            one); /* a correction can be about as large as the sums of a row */
    scale(p, p->work, one);
    for (size_t i = 0; i < m * m; i++)
        p->work[i] += p->matrix[i];
    memset(one, 0, m * sizeof *one);
    one[0] = 1;
    bool result = solve_symmetric(p->lapack, m, p->work, one, inverse) && inverse[0] * MIN_IDLE < 1;
    free(one);
    free(inverse);
    return result;
}

/* The unknown with the least certain power, if that counts as unknown; otherwise the number of
 * unknowns. */
static size_t find_unknown(const struct problem *p)
{
    size_t worst = p->unknowns;
    double most = 1;
    for (size_t i = is_idle(p, 0) && varies(p); i < p->unknowns; i++) {
        double wide = (is_idle(p, i) ? IDLE_WIDE : WIDE) * p->mean;
        double ratio = quantile() * p->error[i] * p->scale[i] / wide;
        if (ratio > most || isnan(ratio)) {
            most = ratio;
            worst = i;
        }
    }
    return worst;
}

/* The unknown that takes the place of I. */
static size_t find_partner(const struct problem *p, size_t i)
{
    size_t m = p->unknowns, best = any_other(p, i);
    double least = 2;
    for (size_t j = 0; j < m; j++) {
        double both = p->covariance[i * m + i] * p->covariance[j * m + j];
        double correlation = both > 0 ? p->covariance[i * m + j] / sqrt(both) : 0;
        if (j != i && correlation < least) {
            least = correlation;
            best = j;
        }
    }
    return best;
}

/* The CPU time of the rows with unknown U [ns]. */
static double time_of(const struct problem *p, size_t u)
{
    double sum = 0;
    for (size_t c = 1; c < p->columns; c++)
        sum += p->unknown[c] == u ? cpu_of(p, c) : 0;
    return sum;
}

/* The powers may change along VECTOR, of which U and V are the largest components: other rows that it
 * involves are only known if U and V really have the same power. */
static void mark_involved(struct problem *p, const double *vector, size_t u, size_t v)
{
    for (size_t c = 1; c < p->columns; c++) {
        size_t i = p->unknown[c];
        if (i != FIT_NONE && i != u && i != v && p->like[c] == FIT_NONE &&
            fabs(vector[i]) > INVOLVED * fabs(vector[u]))
            p->like[c] = column_of(p, vector[i] * vector[u] < 0 ? u : v);
    }
}

/* Joins the unknowns U and V of rows, the largest components of VECTOR. If one of them has so
 * little time that its power hardly affects the other, only this one is fixed. */
static void join_rows(struct problem *p, const double *vector, size_t u, size_t v)
{
    size_t small = time_of(p, u) < time_of(p, v) ? u : v, large = small == u ? v : u;
    if (time_of(p, small) < SMALL_TIME * time_of(p, large)) {
        fix(p, small, large);
        return;
    }
    mark_involved(p, vector, u, v);
    join(p, u, v);
}

/* Joins the two most similar unknowns if SURE is set or if they cannot be distinguished. If one of
 * them is idle power, and differs from the power of rows, the row is fixed instead. Returns whether
 * the number of unknowns has changed. */
static bool join_alike(struct problem *p, bool sure)
{
    size_t m = p->unknowns;
    double *vector = new_values(m);
    bool joined = smallest_eigenvalue(p->lapack, m, p->matrix, vector) < SAME || sure;
    if (joined) {
        size_t u = largest(vector, m, m), v = largest(vector, m, u);
        if ((is_idle(p, u) || is_idle(p, v)) && varies(p))
            fix(p, u > v ? u : v, any_other(p, u > v ? u : v));
        else if (is_idle(p, u) || is_idle(p, v))
            join(p, u, v);
        else
            join_rows(p, vector, u, v);
    }
    free(vector);
    return joined;
}

/* Returns whether the program waits for hardly any of the time of its processors. */
static bool hardly_waits(const struct problem *p)
{
    return processors(p) * p->time - all_cpu(p) < SMALL_TIME * p->time;
}

/* The unknown to fix if that of row U is unknown: idle power if it matters less than the power of
 * the row, because the program hardly waits. */
static size_t least_needed(const struct problem *p, size_t u)
{
    double most = 0;
    for (size_t v = is_idle(p, 0); v < p->unknowns; v++)
        most = fmax(most, time_of(p, v));
    bool idle = is_idle(p, 0) && hardly_waits(p) && time_of(p, u) >= SMALL_TIME * most;
    return idle ? 0 : u;
}

/* Joins two unknowns that cannot be distinguished, or fixes one that is unknown. Returns false if
 * all are known. */
static bool join_next(struct problem *p)
{
    size_t m = p->unknowns, lost = prepare(p), worst = m;
    if (lost < m) {
        fix(p, lost, any_other(p, lost));
        return true;
    }
    if (m > 1 && join_alike(p, false))
        return true;
    double *whole = new_values(m);
    bool solved = solve_symmetric(p->lapack, m, p->matrix, p->side, whole) && leave_out(p);
    if (solved) {
        find_errors(p, whole);
        worst = find_unknown(p);
    }
    free(whole);
    if (!solved && m > 2) {
        worst =
            least_needed(p, m - 1); /* the row with the least CPU time: its error is its power */
        fix(p, worst, any_other(p, worst));
        return true;
    }
    if (!solved)
        return m > 1 && join_alike(p, true);
    if (m < 2 || worst == m)
        return false;
    worst = least_needed(p, worst);
    fix(p, worst, find_partner(p, worst));
    return true;
}

/* ---- intervals ---- */

/* The sum of products of two columns [ns]. */
static double product_of(const struct problem *p, size_t a, size_t b)
{
    return p->products[a * p->columns + b];
}

/* The weight with which the error of the CPU time of COLUMN belongs to column C (0: to waiting).
 * Rows that take CPU time from each other are in the same windows. If threads wait, the correction
 * shows more: CPU time that no row got belongs to waiting. */
static double moved_weight(const struct problem *p, size_t column, size_t c)
{
    if (c == column)
        return 0;
    if (!p->waits)
        return c > 0 ? fmax(0, product_of(p, column, c)) : 0;
    const double *products = p->s[UNCORRECTED] + column * p->columns;
    if (c > 0)
        return fmax(0, -products[c]);
    double all = 0;
    for (size_t o = 1; o < p->columns; o++)
        all += o != column ? fmax(0, -products[o]) : 0;
    return fmax(0, products[column] - all);
}

/* The same as part of the total. */
static double moved_part(const struct problem *p, size_t column, size_t c)
{
    double all = 0;
    for (size_t o = 0; o < p->columns; o++)
        all += moved_weight(p, column, o);
    return all > 0 ? moved_weight(p, column, c) / all : 0;
}

/* The mean CPU time of column C while column A runs (0: while a processor waits), as part of the
 * time of the windows. */
static double part_beside(const struct problem *p, size_t a, size_t c)
{
    if (a > 0)
        return product_of(p, a, c) / cpu_of(p, a);
    double products = 0, own = cpu_of(p, c), waits = processors(p) * p->time - all_cpu(p);
    for (size_t o = 1; o < p->columns; o++)
        products += product_of(p, o, c);
    return waits > 0 ? fmax(0, processors(p) * own - products) / waits : own / p->time;
}

/* The covariance of the power of COLUMN and the error of its CPU time, divided by the variance of
 * that error [J/ns per ns]. Other columns lack the excess of COLUMN in the same windows, and the
 * powers explain the energy of these windows. */
static double follow_time(const struct problem *p, size_t column)
{
    size_t m = p->unknowns, own = p->unknown[column];
    double *side = new_values(m), *change = new_values(m), result = 0;
    for (size_t o = 0; o < p->columns; o++) {
        double other = o > 0 ? power_of(p, p->power, o) : 0;
        double moved = (power_of(p, p->power, column) - other) * moved_part(p, column, o);
        for (size_t c = 0; c < p->columns && moved != 0; c++) {
            double part = c > 0 ? (part_beside(p, column, c) + part_beside(p, o, c)) / 2 : 1;
            if (p->unknown[c] != FIT_NONE)
                side[p->unknown[c]] += moved * part * p->scale[p->unknown[c]];
        }
    }
    if (solve_symmetric(p->lapack, m, p->matrix, side, change))
        result = -change[own] * p->scale[own];
    free(side);
    free(change);
    return result;
}

/* Half of the 95 % interval of the energy of COLUMN, which used the CPU time NS with an error of
 * the variance SQUARES. Only the variance from the jackknife is estimated from few numbers. */
static double find_interval(const struct problem *p, size_t column, double ns, double squares)
{
    size_t u = p->unknown[column];
    double power = power_of(p, p->power, column);
    if (u == FIT_NONE)
        return student_quantile(0.95, FIT_GROUPS - 1) * sqrt(power * power * squares);
    double scale = p->scale[u] * ns, error = p->error[u] * scale;
    double jackknife = p->covariance[u * p->unknowns + u] * scale * scale;
    double apart = error * error + power * power * squares;
    double both = squares > 0 ? 2 * ns * power * squares * follow_time(p, column) : 0;
    double variance = fmax(apart * MIN_VARIANCE, apart + both);
    double known = jackknife > 0 ? variance / jackknife : MAX_KNOWN;
    known = fmax(1, fmin(known, MAX_KNOWN));
    return student_quantile(0.95, (FIT_GROUPS - 1) * known * known) * sqrt(variance);
}

/* ---- results ---- */

/* The variance of an interval in which rows change, as part of its square (see LONG_STAY_VARIANCE).
 * ENTERED: the part of the samples of the row that follow a sample of another row. */
static double switch_variance(double entered)
{
    return LONG_STAY_VARIANCE + (SHORT_STAY_VARIANCE - LONG_STAY_VARIANCE) * entered;
}

/* If hardly any CPU time belongs to rows with a power of their own, idle power is what assumptions
 * about those of the others leave. */
static void doubt_idle(struct problem *p)
{
    double known = 0;
    for (size_t c = 1; c < p->columns; c++)
        known += p->like[c] == FIT_NONE ? cpu_of(p, c) : 0;
    if (known < SMALL_TIME * all_cpu(p) && p->like[0] == FIT_NONE)
        p->like[0] = 1;
}

static void report(const struct problem *p, const struct fit *fit, const double *entered,
                   struct fit_power *powers)
{
    for (size_t c = 0; c < fit->columns; c++) {
        struct fit_power *to = &powers[c];
        *to = (struct fit_power){.like = FIT_NONE, .interval = NAN};
        if (p->from[c] == FIT_NONE || c == FIT_ENERGY)
            continue;
        size_t column = p->from[c], u = p->unknown[column];
        double ns = exact_approximate(fit->cpu[c], TIME_SHIFT);
        if (p->like[column] != FIT_NONE)
            to->like = p->first[p->like[column]];
        to->rare = c == FIT_REST || column >= p->own;
        double per_ns = u == FIT_NONE ? p->fixed[column] : p->power[u] * p->scale[u];
        double switched =
            c == FIT_TIME ? 0
                          : exact_approximate(fit->switched[c], 0) * switch_variance(entered[c]);
        to->watt = per_ns * 1e9;
        to->energy = per_ns * ns;
        if (to->like == FIT_NONE && !to->rare)
            to->interval = find_interval(p, column, ns, switched);
    }
}

/* Sets MEAN and GROSS from the sums of time, CPU time and energy, as if there were a single row. */
static void find_mean(struct problem *p)
{
    double joule = 0, cpu_ns = 0, cpu_joule = 0, square = 0;
    for (size_t g = 0; g < FIT_GROUPS; g++) {
        joule += p->b[g][0];
        for (size_t c = 1; c < p->columns; c++) {
            cpu_ns += p->s[g][c];
            cpu_joule += p->b[g][c];
            for (size_t d = 1; d < p->columns; d++)
                square += p->s[g][c * p->columns + d];
        }
    }
    p->mean = p->gross = cpu_ns > 0 ? fabs(joule) / cpu_ns : 0;
    double rest = square - cpu_ns * cpu_ns / p->time, slope = cpu_joule - joule * cpu_ns / p->time;
    if (rest > MIN_IDLE * square && slope > 0)
        p->mean = slope / rest;
}

static bool solve(struct problem *p)
{
    if (!(p->time > 0))
        return false;
    find_mean(p);
    while (p->unknowns > 0 && join_next(p))
        ;
    return p->unknowns > 0 && prepare(p) == p->unknowns &&
           solve_nonnegative(p->lapack, p->unknowns, p->matrix, p->side, p->power);
}

/* Fills ERR. There may be enough updates, but then the CPU time between them is not known. Returns
 * -1. */
static int too_few_windows(const struct fit *fit, struct error *err)
{
    uint64_t windows = (uint64_t)fit->switched[FIT_TIME];
    if (fit->updates < FIT_MIN_WINDOWS)
        return error_set(err, NULL, NO_OFFSET,
                         "--energy-model=fit: too few updates of the sensor: %" PRIu64
                         " windows, at least %d are needed (--energy-model=share needs none)",
                         windows, FIT_MIN_WINDOWS);
    return error_set(err, NULL, NO_OFFSET,
                     "--energy-model=fit: the sensor was updated %" PRIu64
                     " times, but the CPU time used in between is known for only %" PRIu64
                     " windows, and at least %d are needed: record for longer, or on a less "
                     "busy machine (--energy-model=share needs none)",
                     fit->updates, windows, FIT_MIN_WINDOWS);
}

/* Opens LAPACK. Returns NULL with ERR filled if FIT has too few windows, or if the library is
 * missing. */
static struct lapack *prepare_lapack(const struct fit *fit, struct error *err)
{
    if (fit->switched[FIT_TIME] >= FIT_MIN_WINDOWS)
        return lapack_open(err);
    too_few_windows(fit, err);
    return NULL;
}

static int no_solution(struct error *err)
{
    return error_set(err, NULL, NO_OFFSET,
                     "--energy-model=fit: the sums of windows have no solution: use "
                     "--energy-model=share");
}

int fit_powers(const struct fit *fit, const double *entered, struct fit_power *powers,
               struct error *err)
{
    struct problem p;
    struct lapack *lapack = prepare_lapack(fit, err);
    if (lapack == NULL)
        return -1;
    start(&p, fit, lapack);
    bool solved = solve(&p);
    doubt_idle(&p);
    if (solved)
        report(&p, fit, entered, powers);
    end(&p);
    return solved ? 0 : no_solution(err);
}

/* The part of the variance of energies that unconstrained powers of all columns leave unexplained.
 * The sums are not corrected, because the correction would change abruptly with the lag; joining
 * unknowns would do the same, so this must be called before. NaN: unknown. */
static double unexplained(struct problem *p, bool moved)
{
    size_t n = p->unknowns;
    for (size_t set = 0; set < SETS; set++)
        collect(p, set, 1, p->matrix, p->side);
    double joule = p->side[0], rest = p->squares - (moved ? 2 : 1) * p->leaps;
    double variance = p->squares - joule * joule / p->time;
    scale_to_correlations(p);
    for (size_t i = 0; i < n; i++)
        p->matrix[i * n + i] = 1 + RIDGE;
    if (!(p->time > 0) || !solve_symmetric(p->lapack, n, p->matrix, p->side, p->power))
        return NAN;
    for (size_t i = 0; i < n; i++)
        rest -= p->power[i] * (p->side[i] + RIDGE * p->power[i]);
    return variance > 0 ? rest / variance : 0;
}

int fit_unexplained(const struct fit *fit, bool moved, struct fit_rest *rest, struct error *err)
{
    struct problem p;
    struct lapack *lapack = prepare_lapack(fit, err);
    if (lapack == NULL)
        return -1;
    start(&p, fit, lapack);
    *rest = (struct fit_rest){unexplained(&p, moved), (double)fit->switched[FIT_TIME]};
    end(&p);
    return isnan(rest->part) ? no_solution(err) : 0;
}
