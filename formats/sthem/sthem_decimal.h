/* Decimal numbers in text, scanned once and exactly. Inlined, because scanning dominates the time
 * to read a table.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_STHEM_STHEM_DECIMAL_H
#define FORMATS_STHEM_STHEM_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_DIGITS = 19 /* the number of digits that fit in 64 bits */, DECIMAL_POWERS = 23 };
extern const double decimal_powers[DECIMAL_POWERS]; /* powers of ten, all exact */

/* digits * 10^exponent */
struct decimal {
    uint64_t digits;
    int exponent;
    bool negative;
    bool plain; /* digits only: no sign, point or exponent */
    bool cut;   /* more than 19 significant digits: the rest was dropped */
};

/* Slow paths of decimal_scan and decimal_double. */
const char *decimal_scan_long(const char *text, struct decimal *number);
const char *decimal_scan_exponent(const char *text, struct decimal *number);
double decimal_convert(const char *begin, const char *end);

static inline bool decimal_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Scans a number at TEXT, which must be followed by a character that cannot belong to it; '.' or
 * ',' is the decimal point. Returns the end of the number, or NULL if there is none. */
static inline const char *decimal_scan(const char *text, struct decimal *n)
{
    const char *at = text;
    n->negative = *at == '-';
    n->plain = *at != '-' && *at != '+';
    n->cut = false;
    at += !n->plain;
    const char *begin = at;
    uint64_t digits = 0;
    for (; decimal_digit(*at); at++)
        digits = digits * 10 + (uint64_t)(*at - '0');
    ptrdiff_t count = at - begin;
    n->exponent = 0;
    if (*at == '.' || *at == ',') {
        const char *point = at++;
        for (; decimal_digit(*at); at++)
            digits = digits * 10 + (uint64_t)(*at - '0');
        n->exponent = (int)(point + 1 - at);
        count += at - point - 1;
        n->plain = false;
    }
    n->digits = digits;
    if (count == 0)
        return NULL;
    if (count > DECIMAL_DIGITS)
        at = decimal_scan_long(begin, n);
    return *at == 'e' || *at == 'E' ? decimal_scan_exponent(at + 1, n) : at;
}

/* The double nearest to N; BEGIN and END delimit the scanned characters. Returns HUGE_VAL beyond
 * the largest double, NAN for unreasonably long texts. Usually, digits and power are exact doubles,
 * so a single multiplication or division rounds correctly. */
static inline double decimal_double(const struct decimal *n, const char *begin, const char *end)
{
    if (n->digits > UINT64_C(1) << 53 || n->exponent <= -DECIMAL_POWERS ||
        n->exponent >= DECIMAL_POWERS || n->cut)
        return decimal_convert(begin, end);
    double value = (double)(int64_t)n->digits;
    value = n->exponent < 0 ? value / decimal_powers[-n->exponent]
                            : value * decimal_powers[n->exponent];
    return n->negative ? -value : value;
}

/* digits * 10^(exponent + SHIFT), rounded to the nearest integer. The result must be below
 * 10^38. */
__int128 decimal_integer(const struct decimal *number, int shift);

#endif
