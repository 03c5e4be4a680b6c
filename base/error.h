/* An error and its position: filled by libraries, and printed only by tools.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#define NO_OFFSET UINT64_MAX /* the error does not concern a particular byte */

/* A zeroed struct error contains no error. */
struct error {
    char file[512];   /* the file name given by the user, "" for none */
    uint64_t offset;  /* byte offset in that file, or NO_OFFSET */
    bool closed_pipe; /* stdout is a pipe that was closed by its reader */
    bool of_system;   /* a system call failed; unlike damage, this cannot be salvaged */
    bool of_usage;    /* the command line is wrong, whatever the input contains */
    /* the user's selection is empty, which is not an error for outputs that can show this */
    bool is_nothing;
    /* what was found and what was expected: lower case, no full stop; "": no error */
    char text[512];
};

/* Records an error; FILE may be NULL. Control characters in names are replaced by '?'. If an error
 * has already been recorded, it is kept, because the first cause is to be reported. Returns -1, so
 * that callers can `return error_set(...)`. */
int error_set(struct error *err, const char *file, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Like error_set, with OF_USAGE set and no offset: tools exit with EXIT_USAGE. Returns -1. */
int error_set_usage(struct error *err, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets ERR to FROM, unless it is set already. Returns -1. */
int error_pass(struct error *err, const struct error *from);

/* Like error_set, with ": " and the text of ERRNUM (an errno) appended, and OF_SYSTEM set. Returns -1. */
int error_set_errno(struct error *err, const char *file, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
