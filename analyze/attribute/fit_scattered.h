/* Internal to fit*.c: CPU times that are not known where windows end.
 *
 * A sampler that looks at random moments knows the CPU time of a thread only now and then, and divides it equally among the
 * n looks since that found the thread running, c each. A window that ends in between gets c for each of its looks, which is
 * right on average. k looks in a row of a window have the error c^2 k (n - k) / (n - 1) if moments are independent, and
 * looks in k and in l have -c^2 k l / (n - 1) together: signs at random, less their mean among the n looks, have these squares
 * and products on average. So each look gets such an error, with which CPU times are estimated twice more: products of
 * x + e and of x - e are as much larger than those of x as those of x are larger than the true ones.
 *
 * Moments whose intervals have the coefficient of variation v are less random, by v^2, and all threads are looked at in the same ones.
 * If a look finds a running thread in the part q of cases, the thread has (1 - q) (1 - v^2) for itself on top of that.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_SCATTERED_H
#define ANALYZE_ATTRIBUTE_FIT_SCATTERED_H

#include "analyze/attribute/fit_windows.h"

/* Is the CPU time of threads unknown at too many ends of windows? These are where WITH_NEXT is not set. TIMES follows the view. */
bool fit_scattered_is(const struct fit_windows *windows, const bool *with_next);

/* Joins windows until they are long compared with the looks among which CPU times are divided. The moments do not depend on
 * which looks found threads running. */
void fit_scattered_join(const struct fit_windows *windows, bool *with_next);

/* Adds the CPU times of the thread samples to the entries of windows. */
void fit_scattered_add(struct fit_windows *windows);

#endif
