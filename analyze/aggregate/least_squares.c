/* Least squares from normal equations.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/least_squares.h"

#include <dlfcn.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/memory.h"

#define LIBRARY "liblapacke.so.3"

struct lapack {
    void *handle;
    __typeof__(LAPACKE_dposv) *dposv; /* solves equations by Cholesky's method */
    __typeof__(LAPACKE_dsyev) *dsyev; /* computes eigenvalues and eigenvectors */
};

struct lapack *lapack_open(struct error *err)
{
    struct lapack *lapack = mem_zalloc(1, sizeof *lapack);
    const struct library_function functions[] = {
        {"LAPACKE_dposv", &lapack->dposv}, {"LAPACKE_dsyev", &lapack->dsyev}, {0}};
    lapack->handle = library_load(LIBRARY, functions);
    if (lapack->handle != NULL)
        return lapack;
    lapack_close(lapack);
    error_set(err, NULL, NO_OFFSET, "least squares need " LIBRARY ", which cannot be loaded");
    return NULL;
}

void lapack_close(struct lapack *lapack)
{
    if (lapack != NULL && lapack->handle != NULL)
        dlclose(lapack->handle);
    free(lapack);
}

static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

bool solve_symmetric(const struct lapack *lapack, size_t n, const double *s, const double *b,
                     double *p)
{
    if (!all_finite(s, n * n) || !all_finite(b, n))
        return false;
    double *factor = mem_alloc((n * n + 1) * sizeof *factor);
    memcpy(factor, s, n * n * sizeof *factor);
    memcpy(p, b, n * sizeof *p);
    lapack_int order = (lapack_int)n, info = 0;
    if (n > 0)
        info = lapack->dposv(LAPACK_COL_MAJOR, 'L', order, 1, factor, order, p, order);
    free(factor);
    return info == 0 && all_finite(p, n);
}

double smallest_eigenvalue(const struct lapack *lapack, size_t n, const double *s, double *vector)
{
    if (n == 0 || !all_finite(s, n * n))
        return NAN;
    double *vectors = mem_alloc((n * n + n) * sizeof *vectors), *values = vectors + n * n;
    memcpy(vectors, s, n * n * sizeof *vectors);
    lapack_int order = (lapack_int)n;
    double least = NAN;
    if (lapack->dsyev(LAPACK_COL_MAJOR, 'V', 'L', order, vectors, order, values) == 0) {
        least = values[0]; /* in ascending order */
        memcpy(vector, vectors, n * sizeof *vector);
    }
    free(vectors);
    return least;
}

/* ---- Lawson and Hanson: variables that may differ from 0 are added to a set one by one ---- */

struct active_set {
    const struct lapack *lapack;
    size_t n;
    const double *s, *b;
    double *p;
    bool *free;              /* [n]: it may differ from 0 */
    double *part, *side, *z; /* work space: n x n, n, n */
};

/* Sets Z to the solution for the free variables alone (0 for the others). */
static bool solve_free(struct active_set *a)
{
    size_t count = 0;
    size_t *number = mem_alloc((a->n + 1) * sizeof *number);
    for (size_t i = 0; i < a->n; i++)
        if (a->free[i])
            number[count++] = i;
    for (size_t i = 0; i < count; i++) {
        a->side[i] = a->b[number[i]];
        for (size_t j = 0; j < count; j++)
            a->part[i * count + j] = a->s[number[i] * a->n + number[j]];
    }
    double *found = mem_alloc((count + 1) * sizeof *found);
    bool solved = solve_symmetric(a->lapack, count, a->part, a->side, found);
    memset(a->z, 0, a->n * sizeof *a->z);
    for (size_t i = 0; i < count && solved; i++)
        a->z[number[i]] = found[i];
    free(found);
    free(number);
    return solved;
}

/* Moves from P towards Z until a variable would become negative; variables that reach 0 are no
 * longer free. Returns whether it reached Z. */
static bool step(struct active_set *a)
{
    double length = 1;
    for (size_t i = 0; i < a->n; i++)
        if (a->free[i] && a->z[i] <= 0)
            length = fmin(length, a->p[i] / (a->p[i] - a->z[i]));
    for (size_t i = 0; i < a->n; i++) {
        bool blocks = a->free[i] && a->z[i] <= 0;
        a->p[i] += length * (a->z[i] - a->p[i]);
        if (blocks && a->p[i] <= 1e-14 * fabs(a->z[i]))
            a->free[i] = false;
        if (!a->free[i])
            a->p[i] = 0;
    }
    return length >= 1;
}

/* The variable at 0 that would reduce the sum of squares most; n if none would. */
static size_t next_free(const struct active_set *a)
{
    size_t best = a->n;
    double most = 0;
    for (size_t i = 0; i < a->n; i++) {
        double gain = a->b[i], size = fabs(a->b[i]);
        for (size_t j = 0; j < a->n; j++) {
            gain -= a->s[i * a->n + j] * a->p[j];
            size += fabs(a->s[i * a->n + j] * a->p[j]);
        }
        if (!a->free[i] && gain > 1e-12 * size && gain > most) {
            most = gain;
            best = i;
        }
    }
    return best;
}

static bool improve(struct active_set *a)
{
    size_t next;
    for (size_t round = 0; round < 3 * a->n && (next = next_free(a)) < a->n; round++) {
        a->free[next] = true;
        do
            if (!solve_free(a))
                return false;
        while (!step(a));
    }
    return true;
}

bool solve_nonnegative(const struct lapack *lapack, size_t n, const double *s, const double *b,
                       double *p)
{
    if (!solve_symmetric(lapack, n, s, b, p))
        return false;
    bool positive = true;
    for (size_t i = 0; i < n; i++)
        positive &= p[i] >= 0;
    if (positive)
        return true;
    struct active_set a = {.lapack = lapack, .n = n, .s = s, .b = b, .p = p};
    a.free = mem_zalloc(n, sizeof *a.free);
    a.part = mem_alloc((n * n + 2 * n) * sizeof *a.part);
    a.side = a.part + n * n;
    a.z = a.side + n;
    memset(p, 0, n * sizeof *p);
    bool solved = improve(&a);
    free(a.free);
    free(a.part);
    return solved;
}
