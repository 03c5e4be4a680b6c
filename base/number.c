/* Numbers from and for people.
 * SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

void format_real(char *text, size_t size, double value)
{
    for (int digits = 15; digits <= 17; digits++) {
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
