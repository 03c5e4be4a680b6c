/* Demangles C++ and Rust names.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_DEMANGLE_H
#define CONVERT_SYMBOLIZE_DEMANGLE_H

/* The demangled form of NAME, caller frees; NULL when it is not mangled, damaged, or would be
 * unreasonably long. ".cold", ".part.0" and the like stay visible. Safe for any bytes. */
char *demangle(const char *name);

#endif
