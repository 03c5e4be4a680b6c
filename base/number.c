/* Parses numbers from command lines.
 * SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

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
