/* Parses and formats numbers.
 * SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNIFICANT = 6, MAX_DECIMALS = 9 };

bool parse_unsigned(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || number < least || number > most)
        return false;
    *value = number;
    return true;
}

bool parse_double(const char *text, double least, double most, double *value)
{
    char *end;
    if (*text == '\0' || isspace((unsigned char)*text))
        return false;
    double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number) || number < least || number > most)
        return false;
    *value = number;
    return true;
}

/* Writes a number of billionths as a decimal number without trailing zeros. */
static void format_billionths(char *text, uint64_t number, bool negative)
{
    enum { PLACES = 9, UNIT = 1000000000 };
    uint64_t part = number % UNIT;
    int places = part == 0 ? 0 : PLACES;
    while (places > 0 && part % 10 == 0) {
        part /= 10;
        places--;
    }
    char digits[32], *at = digits + sizeof digits;
    for (int i = 0; i < places; i++, part /= 10)
        *--at = (char)('0' + part % 10);
    if (places > 0)
        *--at = '.';
    uint64_t whole = number / UNIT;
    do {
        *--at = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole > 0);
    if (negative)
        *--at = '-';
    size_t length = (size_t)(digits + sizeof digits - at);
    memcpy(text, at, length);
    text[length] = '\0';
}

/* Times and many other values are whole numbers of billionths with at most 15 digits. Their text
 * reads back as VALUE, and no shorter text does: it would be another number of at most 15 digits,
 * and such numbers are different doubles. */
static bool format_short(char *text, double value)
{
    const double least = 1e-4, billion = 1e9, most = 1e15; /* below LEAST, %g writes an exponent */
    double scaled = rint(fabs(value) * billion);
    if (!(fabs(value) >= least && scaled < most) || scaled / billion != fabs(value))
        return false;
    format_billionths(text, (uint64_t)scaled, value < 0);
    return true;
}

/* Whether 15 digits certainly do not read back as VALUE. Most computed numbers need more, and
 * trying is slow. It is certain if the nearest number of 15 digits is further away than any number
 * that is rounded to VALUE. Always false if long double is not wider than double. */
static bool needs_more(double value)
{
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                         1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                         1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                         1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    const long double most = 1e15L, rounding = 0x1.1p-53L;
    int exponent;
    (void)frexp(value, &exponent);
    int up = 14 - (int)floor((exponent - 1) * 0.30103);
    if (LDBL_MANT_DIG < 64 || !isfinite(value) || up < 0 || up > 27)
        return false;
    long double digits = fabsl((long double)value) * powers[up];
    digits = digits < most ? digits : digits / 10;
    return fabsl(digits - rintl(digits)) > digits * rounding;
}

void format_real(char *text, size_t size, double value)
{
    if (format_short(text, value))
        return;
    for (int digits = needs_more(value) ? 16 : 15; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

int decimals_for(double largest)
{
    int digits = largest > 0 && isfinite(largest) ? (int)floor(log10(largest)) + 1 : 1;
    int decimals = SIGNIFICANT - digits;
    return decimals < 0 ? 0 : decimals > MAX_DECIMALS ? MAX_DECIMALS : decimals;
}
