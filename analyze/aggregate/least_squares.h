/* Least squares from normal equations, with the linear algebra of LAPACK.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_LEAST_SQUARES_H
#define ANALYZE_AGGREGATE_LEAST_SQUARES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The functions of LAPACK. It is opened at run time, so that tools that do not need it start
 * faster. */
struct lapack;

/* Returns NULL with ERR filled if the library is missing. */
struct lapack *lapack_open(struct error *err);
void lapack_close(struct lapack *lapack); /* NULL is allowed */

/* Matrices are N x N, symmetric, and stored in full, row by row. */

/* Sets P to the solution of S p = b. Returns false if S is not positive definite. */
bool solve_symmetric(const struct lapack *lapack, size_t n, const double *s, const double *b,
                     double *p);

/* Sets P to the p >= 0 that minimizes p' S p - 2 b' p, by the method of Lawson and Hanson. Returns
 * false if S is not positive definite. */
bool solve_nonnegative(const struct lapack *lapack, size_t n, const double *s, const double *b,
                       double *p);

/* Returns the smallest eigenvalue of S and sets VECTOR to its eigenvector; NaN if it was not
 * found. */
double smallest_eigenvalue(const struct lapack *lapack, size_t n, const double *s, double *vector);

#endif
