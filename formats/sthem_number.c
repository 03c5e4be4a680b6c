/* Decimal numbers in text.
 * SPDX-License-Identifier: MIT */
#include "formats/sthem_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MOST = 19, EXPONENT_MOST = 100000, TEXT_MOST = 512 };

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Takes digits one by one and keeps the first 19 significant ones. */
static const char *scan_long(const char *at, struct decimal *n)
{
    int count = 0;
    bool point = false;
    n->digits = 0;
    n->exponent = 0;
    for (;; at++) {
        if (!point && (*at == '.' || *at == ',')) {
            point = true;
            continue;
        }
        if (!is_digit(*at))
            return at;
        if (count < DIGITS_MOST) {
            n->digits = n->digits * 10 + (uint64_t)(*at - '0');
            count += n->digits > 0;
            n->exponent -= point;
        } else {
            n->cut = true;
            n->exponent += !point;
        }
    }
}

/* Behind "e" or "E"; NULL where no digits follow. */
static const char *scan_exponent(const char *at, struct decimal *n)
{
    bool negative = *at == '-';
    int value = 0;
    at += *at == '-' || *at == '+';
    if (!is_digit(*at))
        return NULL;
    for (; is_digit(*at); at++)
        if (value < EXPONENT_MOST)
            value = value * 10 + (*at - '0');
    n->exponent += negative ? -value : value;
    n->plain = false;
    return at;
}

const char *decimal_scan(const char *text, struct decimal *n)
{
    const char *at = text;
    n->negative = *at == '-';
    n->plain = *at != '-' && *at != '+';
    n->cut = false;
    at += !n->plain;
    const char *begin = at;
    uint64_t digits = 0;
    for (; is_digit(*at); at++)
        digits = digits * 10 + (uint64_t)(*at - '0');
    ptrdiff_t count = at - begin;
    n->exponent = 0;
    if (*at == '.' || *at == ',') {
        const char *point = at++;
        for (; is_digit(*at); at++)
            digits = digits * 10 + (uint64_t)(*at - '0');
        n->exponent = (int)(point + 1 - at);
        count += at - point - 1;
        n->plain = false;
    }
    n->digits = digits;
    if (count == 0)
        return NULL;
    if (count > DIGITS_MOST)
        at = scan_long(begin, n);
    return *at == 'e' || *at == 'E' ? scan_exponent(at + 1, n) : at;
}

/* The C library rounds correctly whatever the digits; no tool calls setlocale, so the point is '.'. */
static double convert_text(const char *begin, const char *end)
{
    char text[TEXT_MOST];
    size_t length = (size_t)(end - begin);
    if (length >= sizeof text)
        return NAN;
    memcpy(text, begin, length);
    text[length] = '\0';
    char *comma = strchr(text, ',');
    if (comma != NULL)
        *comma = '.';
    return strtod(text, NULL);
}

double decimal_double(const struct decimal *n, const char *begin, const char *end)
{
    /* both factors are exact doubles, so one multiplication or division rounds correctly */
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (n->digits > UINT64_C(1) << 53 || n->exponent < -22 || n->exponent > 22 || n->cut)
        return convert_text(begin, end);
    double value = (double)(int64_t)n->digits;
    value = n->exponent < 0 ? value / powers[-n->exponent] : value * powers[n->exponent];
    return n->negative ? -value : value;
}

__int128 decimal_integer(const struct decimal *n, int shift)
{
    static const uint64_t powers[] = {1,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      UINT64_C(10000000000000000000)};
    int up = n->exponent + shift;
    __int128 value = n->digits;
    if (value == 0 || up < -DIGITS_MOST)
        return 0;
    if (up < 0)
        value = (value + powers[-up] / 2) / powers[-up];
    for (; up > 0; up -= DIGITS_MOST)
        value *= powers[up < DIGITS_MOST ? up : DIGITS_MOST];
    return n->negative ? -value : value;
}
