/* Shorter forms of names for narrow tables and pictures: arguments go first, then the middle.
 *
 *   void std::__introsort_loop<int*, long>(int*, int*, long)      std::__introsort_loop<...>
 * SPDX-License-Identifier: MIT */
#ifndef BASE_ELIDE_H
#define BASE_ELIDE_H

#include <stddef.h>

/* How much of a name of a function is left out; each step includes those before it. */
enum elide_step {
    ELIDE_NOTHING,
    ELIDE_PARAMETERS, /* f(...) */
    ELIDE_NESTED,     /* arguments of template arguments, parameters inside of names */
    ELIDE_TEMPLATES,  /* f<...>(...) */
    ELIDE_SIGNATURE,  /* f<...>: neither parameters nor the type of the result */
    ELIDE_STEPS
};

/* A copy of NAME (valid UTF-8) without what STEP leaves out; complete if its brackets are not those of C++ or Rust.
 * Caller frees. */
char *elide_arguments(const char *name, enum elide_step step);

/* A copy of NAME without its parameters and the type of its result; with its template arguments. Caller frees. */
char *elide_parameters(const char *name);

/* A copy of TEXT (valid UTF-8) in at most WIDTH characters, with "..." in its middle if it is longer. Caller frees. */
char *elide_middle(const char *text, size_t width);

/* A copy of NAME with "..." in place of its first COUNT scopes, "...basic_string<...>::swap" for 2 of std::__cxx11::; NULL:
 * it has fewer. Caller frees. */
char *elide_scopes(const char *name, size_t count);
enum { ELIDE_SCOPES = 32 /* more of them are not tried, so that odd names take no time */ };

/* The same for a name: before that, without arguments and then without outer scopes as far as needed. A name that would
 * lose most of what there is room for is cut in the middle instead. */
char *elide(const char *name, size_t width);

/* The number of characters of TEXT. */
size_t elide_width(const char *text);

#endif
