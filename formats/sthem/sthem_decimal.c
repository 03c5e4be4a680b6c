/* Decimal numbers in text.
 * SPDX-License-Identifier: MIT */
#include "formats/sthem/sthem_decimal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXPONENT = 100000, MAX_TEXT = 512 };

/* Reads digits one by one and keeps the first 19 significant ones. */
const char *decimal_scan_long(const char *at, struct decimal *n)
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
        if (!decimal_digit(*at))
            return at;
        if (count < DECIMAL_DIGITS) {
            n->digits = n->digits * 10 + (uint64_t)(*at - '0');
            count += n->digits > 0;
            n->exponent -= point;
        } else {
            n->cut = true;
            n->exponent += !point;
        }
    }
}

/* Reads an exponent after "e" or "E". Returns NULL if no digits follow. */
const char *decimal_scan_exponent(const char *at, struct decimal *n)
{
    bool negative = *at == '-';
    int value = 0;
    at += *at == '-' || *at == '+';
    if (!decimal_digit(*at))
        return NULL;
    for (; decimal_digit(*at); at++)
        if (value < MAX_EXPONENT)
            value = value * 10 + (*at - '0');
    n->exponent += negative ? -value : value;
    n->plain = false;
    return at;
}

/* The C library rounds any digits correctly. No tool calls setlocale, so the decimal point is '.'. */
double decimal_convert(const char *begin, const char *end)
{
    char text[MAX_TEXT];
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

const double decimal_powers[DECIMAL_POWERS] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

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
    if (value == 0 || up < -DECIMAL_DIGITS)
        return 0;
    if (up < 0)
        value = (value + powers[-up] / 2) / powers[-up];
    for (; up > 0; up -= DECIMAL_DIGITS)
        value *= powers[up < DECIMAL_DIGITS ? up : DECIMAL_DIGITS];
    return n->negative ? -value : value;
}
