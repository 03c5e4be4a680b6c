/* --fail-if: conditions under which a comparison counts as failed, for continuous integration.
 *
 *   energy>5%   time>0.5s   total:power>2W
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_FAIL_IF_H
#define ANALYZE_COMPARE_FAIL_IF_H

#include "analyze/compare/compare.h"

struct gate {
    const char *text; /* as typed, borrowed */
    enum compare_metric metric;
    double limit; /* of the increase: [%] of the base, or in the unit of the metric */
    bool percent;
    bool total; /* of the total instead of each row */
};

/* Parses TEXT. Returns NULL, or what is wrong with it (static). */
const char *gate_parse(const char *text, struct gate *gate);

/* Prints each row of each other side that is significantly over the limit to stderr. NAMES are those of the sides.
 * Returns how many there were. A total that cannot be tested is a warning. */
size_t gate_check(const struct gate *gate, const struct compare *compare, const char *const *names,
                  struct reporter *reporter);

#endif
