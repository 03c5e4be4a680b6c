/* Matches rows of two profiles that are the same code despite compiler suffixes of names, renamed
 * binaries and moved lines.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_MATCH_H
#define ANALYZE_COMPARE_MATCH_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

/* A renamed binary. */
struct binary_map {
    const char *from; /* FROM_LENGTH bytes, without NUL at the end */
    size_t from_length;
    const char *to;
};

/* Parses TEXT, the argument OLD=NEW of --map-binary, and appends it to MAPS. TEXT is borrowed; an
 * invalid one is a usage error. */
void map_binary_option(struct binary_map **maps, size_t *count, size_t *capacity, const char *text,
                       struct argp_state *state);

/* NAME or its replacement. */
const char *match_binary(const char *name, const struct binary_map *maps, size_t count);

/* A line of a function and its weight. Lines are in ascending order, greater than 0, and
 * distinct. */
struct line_weight {
    uint64_t line;
    double weight;
};

#define NO_PARTNER SIZE_MAX

/* Finds, for each of N lines BASE, the line that it became among M lines OTHER: PARTNER[i] is an
 * index in OTHER, or NO_PARTNER.
 *
 * Each base line is shifted by some number of lines, which keeps the order of lines, so that the
 * sum of min(share of the base line, share of the line that it is shifted to) is as large as
 * possible. Each change of the shift from one line to the next, and a first shift other than 0,
 * costs MATCH_SHIFT_COST. Shares are shares of the function. */
#define MATCH_SHIFT_COST 0.02
void match_lines(const struct line_weight *base, size_t n, const struct line_weight *other,
                 size_t m, size_t *partner);

#endif
