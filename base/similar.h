/* "did you mean ...?": the name that somebody may have meant.
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

/* Keeps NAME if it is more like what is wanted than any so far: the same but for case, arguments of templates and
 * functions, the namespace, or a few letters. Of equal ones the first wins. NAME is borrowed. */
void similar_try(struct similar *similar, const char *name);

/* ", did you mean 'NAME'?", with a long name without its arguments, or "" if nothing is similar. Caller frees. */
char *similar_text(const struct similar *similar);

#endif
