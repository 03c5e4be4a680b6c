/* Decimal numbers in text, scanned once and exact.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_STHEM_NUMBER_H
#define FORMATS_STHEM_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* digits * 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
    bool negative;
    bool plain; /* nothing but digits: no sign, point or exponent */
    bool cut;   /* more than 19 significant digits: the others are missing */
};

/* Scans a number at TEXT, which ends in something that is no part of one; '.' or ',' is the decimal point. Returns
 * where it ends, NULL where none begins. */
const char *decimal_scan(const char *text, struct decimal *number);

/* The nearest double; from BEGIN to END are the characters that were scanned. HUGE_VAL beyond all doubles, NAN for
 * texts of unreasonable length. */
double decimal_double(const struct decimal *number, const char *begin, const char *end);

/* digits * 10^(exponent + SHIFT) rounded to the nearest integer. Only below 10^38. */
__int128 decimal_integer(const struct decimal *number, int shift);

#endif
