/* Which rows of two profiles mean the same code: names without what a compiler adds, binaries under one
 * name, and lines that moved.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_MATCH_H
#define ANALYZE_COMPARE_MATCH_H

#include <stddef.h>
#include <stdint.h>

/* Length of function NAME without clone suffixes (.constprop.N, .part.N, .isra.N, .cold, .llvm.N, .lto_priv.N,
 * " [clone ...]") and without the hash that Rust's legacy names end in. Never 0 for a name that is not empty. */
size_t match_function_length(const char *name);

/* Binaries that are the same under another name. */
struct binary_map {
    const char *from; /* FROM_LENGTH bytes, not NUL-terminated */
    size_t from_length;
    const char *to;
};

/* NAME, or what it is mapped to. */
const char *match_binary(const char *name, const struct binary_map *maps, size_t count);

/* A line of a function and its weight, in order of the lines; LINE > 0, no line twice. */
struct line_weight {
    uint64_t line;
    double weight;
};

#define NO_PARTNER SIZE_MAX

/* Which of M lines OTHER each of N lines BASE has become: PARTNER[i] is an index in OTHER or NO_PARTNER.
 *
 * Each base line is shifted by some number of lines, the order of lines is kept, and the sum of min(share of the
 * base line, share of the line it is shifted to) is made as large as can be, where each change of the shift from
 * a line to the next, and a first shift other than 0, costs MATCH_SHIFT_COST. Shares are of the function. */
#define MATCH_SHIFT_COST 0.02
void match_lines(const struct line_weight *base, size_t n, const struct line_weight *other,
                 size_t m, size_t *partner);

#endif
