/* "did you mean ...?": suggests a similar name.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_SIMILAR_H
#define BASE_SIMILAR_H

#include <stddef.h>

/* The search for a name like WANTED. Zero the rest; BEST is borrowed from the caller of similar_try. */
struct similar {
    const char *wanted; /* may be a glob */
    const char *best;   /* NULL: none so far */
    size_t distance;    /* of BEST */
};

/* Keeps NAME if it is more similar than all names so far, that is, if it differs only in case,
 * arguments of templates and functions, the namespace, or a few letters. Of equally similar names,
 * the first is kept. NAME is borrowed. */
void similar_try(struct similar *similar, const char *name);

/* ", did you mean 'NAME'?", or "" if no name is similar. A long name is shown as a glob that function_matches accepts:
 * without arguments, and if need be without scopes. Caller frees. */
char *similar_text(const struct similar *similar);

#endif
