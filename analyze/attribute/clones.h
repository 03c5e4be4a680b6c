/* Names that compilers give to parts and copies of functions.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_CLONES_H
#define ANALYZE_ATTRIBUTE_CLONES_H

#include <stddef.h>

/* The length of the function name NAME without clone suffixes (.constprop.N, .part.N, .isra.N,
 * .cold, .llvm.N, .lto_priv.N, .avx2, " [clone ...]"), and without the hash of Rust's legacy
 * mangling. Never 0 for a name that is not empty. */
size_t clone_stem_length(const char *name);

#endif
