/* Numbers that people type: the whole text or nothing.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Each parses all of TEXT (decimal, no sign for the unsigned one, finite for the double). Returns whether it is
 * one and lies in [LEAST, MOST]; only then *VALUE is set. */
bool parse_unsigned(const char *text, uint64_t least, uint64_t most, uint64_t *value);
bool parse_double(const char *text, double least, double most, double *value);

#endif
