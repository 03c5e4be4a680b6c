/* Demangles C++ and Rust names.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_DEMANGLE_H
#define CONVERT_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>
#include <stdint.h>

/* What the names of one input may cost together. Zeroed: nothing yet. */
struct demangle_costs {
    uint64_t mangled, spent; /* [bytes], and pieces of text */
    bool exceeded;           /* some names stay mangled */
};

/* The demangled form of NAME, caller frees; NULL when it is not mangled, damaged, or would be
 * unreasonably long, alone or together with those before in COSTS. ".cold", ".part.0" and the like stay visible. Safe
 * for any bytes. */
char *demangle(const char *name, struct demangle_costs *costs);

#endif
