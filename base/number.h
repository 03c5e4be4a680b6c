/* Parses numbers from command lines: the whole text must be a number.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Each parses all of TEXT: decimal, the unsigned one without a sign, the double finite. Returns whether it is such a
 * number and within [LEAST, MOST]; sets *VALUE only then. */
bool parse_unsigned(const char *text, uint64_t least, uint64_t most, uint64_t *value);
bool parse_double(const char *text, double least, double most, double *value);

#endif
