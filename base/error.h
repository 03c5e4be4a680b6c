/* What went wrong, where: filled by libraries, printed only by tools.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdint.h>

#define NO_OFFSET UINT64_MAX /* the error concerns no particular byte */

/* A zeroed struct error holds no error. */
struct error {
    char file[512];  /* the file as the user named it, "" for none */
    uint64_t offset; /* byte offset in that file, or NO_OFFSET */
    char text[512];  /* lower case, no full stop; says found and expected; "" = no error */
};

/* Records an error; FILE may be NULL. Bytes of names that a terminal would obey are
 * replaced by '?'. An error that is already there stays: the first cause is the one to
 * report. Returns -1, so that callers can `return error_set(...)`. */
int error_set(struct error *err, const char *file, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* As error_set, with ": " and the text of ERRNUM (errno) behind the message. Returns -1. */
int error_set_errno(struct error *err, const char *file, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
