/* Internal to fit*.c: the windows of threads that are in every sample and always run, which is the common case.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_REGULAR_H
#define ANALYZE_ATTRIBUTE_FIT_REGULAR_H

#include "analyze/attribute/fit_windows.h"
#include "base/bytes.h"

/* A regular stretch has intervals before and after these. */
enum { FIT_REGULAR_FROM = 2, FIT_REGULAR_END = 1 };

/* Can fit_add_regular add the stretch? */
bool fit_is_regular(const struct fit_windows *windows);

/* Adds all intervals, to the same bits as fit_add_lines one by one; without intervals of their own, except the first
 * FIT_REGULAR_FROM and the last FIT_REGULAR_END, which must be in the entries of windows. Takes the windows from TAKEN_FROM to
 * TAKEN_END. */
void fit_add_regular(struct fit_windows *windows);

/* Adds the CPU time that COLUMN used in a window. */
double *fit_entry_of(struct fit *fit, size_t window, uint16_t column);

/* Adds a square of any size to both columns. */
void fit_put_switch(struct fit *fit, uint16_t a, uint16_t b, double square);

/* Counts an interval with CPU_NS that begins in column A and ends in B, if these differ. */
static inline void fit_count_switch(struct fit *fit, uint16_t a, uint16_t b, double cpu_ns)
{
    const double large = 0x1.8p52, small = 0x1p42; /* 2^20 thread samples of them fit */
    double square = cpu_ns * cpu_ns;
    if (a == b || ((a == FIT_WAITS || b == FIT_WAITS) && !fit->waits_unknown))
        return;
    if (!(square < small)) {
        fit_put_switch(fit, a, b, square);
        return;
    }
    uint64_t rounded = bits_of_double(square + large) - bits_of_double(large);
    fit->squares[a] += rounded;
    fit->squares[b] += rounded;
}

/* A thread sample of a pair. */
struct fit_half {
    uint16_t column;
    double cpu_ns;
};

/* Two successive samples of a thread in one window, each with CPU time of its own: the estimates from odd and from even samples use
 * one of them for both. */
void fit_pair(struct fit *fit, size_t window, const struct fit_half *odd,
              const struct fit_half *even);

#endif
