/* Output streams: stdout, or a file that appears under its name only when it is complete.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct output;

enum output_flags {
    OUTPUT_BINARY = 1, /* refuse to write to a terminal */
    OUTPUT_BZIP2 = 2,  /* compress, with any suffix (.bz2 always compresses) */
};

/* Opens PATH for writing; NULL or "-" is stdout. A regular file has no name until output_commit, so
 * that a failure or a signal leaves an existing file unchanged. ERR is borrowed until the output is
 * freed, and filled by any later failure. Returns NULL with ERR filled. */
struct output *output_open(const char *path, unsigned flags, struct error *err);

/* Each returns 0, or -1 with the ERR of output_open filled; after a failure, all calls fail. */
int output_write(struct output *output, const void *data, size_t count);
int output_printf(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes COUNT zero bytes, as a hole if the file is not compressed. */
int output_zeros(struct output *output, uint64_t count);

/* Records a failure with this text and without a file: the command line is wrong. Returns -1. */
int output_fail_usage(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes everything, syncs a file to disk and gives it its name; frees OUTPUT in any case. Only
 * SIGKILL at the moment when a file is replaced can leave a second name of the new file,
 * FILE.PID-N.tmp. (Without support for unnamed files, on some file systems or without /proc, any
 * signal can leave the unfinished file, FILE.XXXXXX.) Returns 0, or -1, which leaves an existing
 * file unchanged. */
int output_commit(struct output *output);

/* Discards the output, except data that a pipe has already passed on, and frees OUTPUT. NULL is
 * allowed. */
void output_discard(struct output *output);

/* Returns whether PATH ends with SUFFIX, optionally followed by ".bz2"; false for NULL. */
bool path_has_suffix(const char *path, const char *suffix);

/* Returns whether the file name in PATH (NULL: none) has a suffix other than ".bz2". */
bool path_has_any_suffix(const char *path);

#endif
