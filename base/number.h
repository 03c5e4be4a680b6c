/* Parses and formats numbers in texts.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each parses all of TEXT as a decimal number: unsigned without a sign, or a finite double. Returns
 * whether it is valid and within [LEAST, MOST]; sets *VALUE only then. */
bool parse_unsigned(const char *text, uint64_t least, uint64_t most, uint64_t *value);
bool parse_double(const char *text, double least, double most, double *value);

/* The shortest decimal text that reads back as VALUE; SIZE must be at least 32. */
void format_real(char *text, size_t size, double value) __attribute__((nonnull));

/* The number of decimals, 0 to 9, with which LARGEST has 6 significant digits. */
int decimals_for(double largest);

#endif
