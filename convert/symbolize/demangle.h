/* Demangles C++, Rust and D names.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_DEMANGLE_H
#define CONVERT_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>
#include <stdint.h>

/* Total cost of demangling the names of one input, which is limited. Zero it to begin. */
struct demangle_costs {
    uint64_t mangled, spent; /* [bytes], and pieces of text */
    bool exceeded;           /* some names stay mangled */
};

/* The demangled form of NAME, caller frees; NULL if it is not mangled, is damaged, or would be unreasonably long,
 * alone or together with the names before in COSTS. Suffixes such as ".cold" and ".part.0" are kept. Safe for any
 * bytes. */
char *demangle(const char *name, struct demangle_costs *costs);

#endif
