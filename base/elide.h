/* Shorter forms of names for narrow tables and pictures: first without arguments, then without the middle.
 *
 *   void std::__introsort_loop<int*, long>(int*, int*, long)      std::__introsort_loop<...>
 * SPDX-License-Identifier: MIT */
#ifndef BASE_ELIDE_H
#define BASE_ELIDE_H

#include <stddef.h>

/* The parts of a function name that are left out. Each step includes all previous ones. */
enum elide_step {
    ELIDE_NOTHING,
    ELIDE_PARAMETERS, /* f(...) */
    ELIDE_NESTED,     /* arguments of template arguments, parameters inside names */
    ELIDE_TEMPLATES,  /* f<...>(...) */
    ELIDE_SIGNATURE,  /* f<...>: no parameters, no return type */
    ELIDE_STEPS
};

/* A copy of NAME (valid UTF-8) without the parts that STEP leaves out; a complete copy if its
 * brackets do not match as in C++ or Rust. Caller frees. */
char *elide_arguments(const char *name, enum elide_step step);

/* A copy of NAME without its parameters and return type, but with its template arguments. Caller frees. */
char *elide_parameters(const char *name);

/* A copy of TEXT (valid UTF-8) that takes at most WIDTH columns of a terminal, with "..." in the
 * middle if TEXT is longer. Caller frees. */
char *elide_middle(const char *text, size_t width);

/* A copy of NAME with "..." in place of its first COUNT scopes, for example
 * "...basic_string<...>::swap" without the two scopes std::__cxx11::; NULL if it has fewer. Caller
 * frees. */
char *elide_scopes(const char *name, size_t count);
enum { ELIDE_MAX_SCOPES = 32 /* limit of attempts, so that unusual names are fast */ };

/* NAME without scopes, parameters and template arguments: "swap". Caller frees. */
char *elide_function(const char *name);

/* Like elide_middle, for a name, which first loses its arguments and then, as needed, outer scopes.
 * If this would make it much shorter than WIDTH, it is shortened in the middle instead. */
char *elide(const char *name, size_t width);

/* The number of columns that TEXT takes on a terminal. */
size_t elide_width(const char *text);

/* The number of bytes of the longest beginning of TEXT that takes at most WIDTH columns. */
size_t elide_end(const char *text, size_t width);

#endif
