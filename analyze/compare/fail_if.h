/* --fail-if: conditions under which a comparison counts as failed, for continuous integration.
 *
 *   energy>5%   time>0.5s   total:power>2W
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_FAIL_IF_H
#define ANALYZE_COMPARE_FAIL_IF_H

#include "analyze/compare/compare.h"

struct fail_if {
    const char *text; /* as given by the user; borrowed */
    enum compare_metric metric;
    double limit; /* of the increase: in % of the base, or in the unit of the metric */
    bool percent;
    bool total; /* applies to the total instead of each row */
};

/* Parses TEXT. Returns NULL, or a static text that describes the error. */
const char *fail_if_parse(const char *text, struct fail_if *condition);

/* Returns whether the unit of the limit is that of the values. Profiles of a quantity other than
 * energy have no joules and watts. */
bool fail_if_fits(const struct fail_if *condition, const struct compare *compare);

/* Returns whether the condition can fail. For totals and powers, both sides need several runs,
 * which show how much they vary. */
bool fail_if_can_fail(const struct fail_if *condition, const struct compare *compare);

/* Prints each row of each other run set that exceeds the limit significantly to stderr. NAMES are
 * the names of the run sets. Returns the number of these rows. Sets *UNTESTED and prints a message
 * if a run set has no such row because no row can be tested, or because its total exceeds the limit
 * and single runs cannot show why. */
size_t fail_if_check(const struct fail_if *condition, const struct compare *compare,
                     const char *const *names, bool *untested);

#endif
