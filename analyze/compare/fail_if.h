/* --fail-if: conditions under which a comparison counts as failed, for continuous integration.
 *
 *   energy>5%   time>0.5s   total:power>2W
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_FAIL_IF_H
#define ANALYZE_COMPARE_FAIL_IF_H

#include "analyze/compare/compare.h"

struct fail_if {
    const char *text; /* as typed, borrowed */
    enum compare_metric metric;
    double limit; /* of the increase: [%] of the base, or in the unit of the metric */
    bool percent;
    bool total; /* of the total instead of each row */
};

/* Parses TEXT. Returns NULL, or a static text that describes the error. */
const char *fail_if_parse(const char *text, struct fail_if *condition);

/* Is the unit of the limit that of the values? Profiles of a quantity other than energy have no joules and watts. */
bool fail_if_fits(const struct fail_if *condition, const struct compare *compare);

/* Can the condition fail? For totals and powers both sides need several runs, which show the variation. */
bool fail_if_can_fail(const struct fail_if *condition, const struct compare *compare);

/* Prints to stderr each row of each other run set that exceeds the limit significantly. NAMES are the names of the run
 * sets. Returns the number of these rows. If a run set has none because no row can be tested, or its total exceeds
 * the limit and single runs cannot show why, sets *UNJUDGED and prints that. */
size_t fail_if_check(const struct fail_if *condition, const struct compare *compare,
                     const char *const *names, bool *untested);

#endif
