/* Used by fit*.c: the windows of threads that are in every sample and always run, which is the common case.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_REGULAR_H
#define ANALYZE_ATTRIBUTE_FIT_REGULAR_H

#include "analyze/attribute/fit_windows.h"
#include "base/bytes.h"

/* The numbers of intervals at the beginning and end of a stretch that fit_add_regular leaves
 * out. */
enum { FIT_REGULAR_FROM = 2, FIT_REGULAR_END = 1 };

/* Returns whether fit_add_regular can add the stretch. */
bool fit_is_regular(const struct fit_windows *windows);

/* Adds all intervals, with the same bits as adding them one by one with fit_add_lines. If samples
 * do not have their own intervals, it leaves out the first FIT_REGULAR_FROM and the last
 * FIT_REGULAR_END, which must already be in the entries of windows. Sets TAKEN_FROM and TAKEN_END;
 * the complete windows between them are then in the sums. */
void fit_add_regular(struct fit_windows *windows);

/* The estimates of the CPU time that COLUMN used in WINDOW [ns], to add to; a new entry is zero.
 * Valid until the next call. */
double *fit_entry_of(struct fit *fit, size_t window, uint16_t column);

/* Adds SQUARE [ns^2], which may have any size, to SWITCHED of both columns. */
void fit_put_switch(struct fit *fit, uint16_t a, uint16_t b, double square);

/* Sets SLOPE [COUNT + 1] to the value, at the beginning of each of COUNT intervals of NS [ns], of
 * the line from the sample before it (0) to the sample after it (1). */
void fit_find_slopes(const double *ns, size_t count, double *slope);

/* Counts an interval with CPU_NS that begins in column A and ends in B, if they differ. */
static inline void fit_count_switch(struct fit *fit, uint16_t a, uint16_t b, double cpu_ns)
{
    const double large = 0x1.8p52, small = 0x1p42; /* below this, 2^20 squares fit in a word */
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

/* Corrects the estimates for two successive samples of a thread in one window, each with its own
 * CPU time, which has been added: the estimates from odd and from even samples use one of them for
 * both. */
void fit_pair(struct fit *fit, size_t window, const struct fit_half *odd,
              const struct fit_half *even);

#endif
