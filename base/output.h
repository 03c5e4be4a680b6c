/* Writing bytes: stdout, or a file that appears under its name only when it is complete.
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
    OUTPUT_BZIP2 = 2,  /* compress, whatever the suffix (a suffix .bz2 does so anyway) */
};

/* Opens PATH for writing; NULL or "-" is stdout. A regular file is written under no name and gets
 * its own in output_commit, so that a failure or a kill leaves what was there before. ERR is
 * kept, and filled by whatever fails later. Returns NULL with ERR filled. */
struct output *output_open(const char *path, unsigned flags, struct error *err);

/* Each returns 0, or -1 with the error of output_open filled; after a failure all fail. */
int output_write(struct output *output, const void *data, size_t count);
int output_printf(struct output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* COUNT bytes of 0: a hole in a file that is not compressed. */
int output_zeros(struct output *output, uint64_t count);

/* Writes everything out, syncs a file to disk and gives it its name; frees OUTPUT in any case. Only SIGKILL, and only
 * in the moment that a file is replaced, can leave a second name of the new file, FILE.PID-N.tmp. (Where there are no
 * unnamed files, on some file systems and without /proc, any signal can leave the unfinished one, FILE.XXXXXX.)
 * Returns 0, or -1: then nothing has changed under that name. */
int output_commit(struct output *output);

/* Forgets what was written (what went to a pipe already is gone); frees. NULL is allowed. */
void output_discard(struct output *output);

/* Does PATH end in SUFFIX, with or without ".bz2" behind it? NULL does not. */
bool path_has_suffix(const char *path, const char *suffix);

#endif
