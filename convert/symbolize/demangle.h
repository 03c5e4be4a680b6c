/* Demangles C++, Rust and D names.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_DEMANGLE_H
#define CONVERT_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>
#include <stdint.h>

/* The total cost of demangling the names of one input, which is limited. All zero to begin. */
struct demangle_costs {
    uint64_t mangled, spent; /* [bytes of names, and pieces of text] */
    bool exceeded;           /* some names stay mangled */
};

/* Returns the demangled form of NAME, which the caller frees, or NULL if it is not mangled, is damaged, or would
 * be unreasonably long, alone or together with the previous names in COSTS. Suffixes such as
 * ".cold" and ".part.0" are kept. NAME may contain any bytes. */
char *demangle(const char *name, struct demangle_costs *costs);

#endif
