/* Annotation: which functions are shown, and in how much detail.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_SELECT_H
#define ANALYZE_ANNOTATE_ANNOTATE_SELECT_H

#include "analyze/annotate/annotate.h"

/* "time", "energy", "samples". */
extern const char *const annotate_metric_names[HEATS];

/* Sets LEVEL to the one that the first LENGTH bytes of TEXT name; "line" is LEVEL_INSTRUCTION. Returns whether they name one. */
bool annotate_level_parse(const char *text, size_t length, enum annotate_level *level);
/* Parses a minimum such as "function:time=0.5" into MINIMUM. Returns NULL, or what was expected. */
const char *annotate_minimum_parse(const char *text, struct annotate_minimum *minimum);

/* Do SUMS reach all minima of LEVEL? */
bool annotate_reaches(const struct annotation *annotation, enum annotate_level level,
                      const struct annotate_sums *sums);
/* Do the options have a minimum of LEVEL? */
bool annotate_has_minimum(const struct annotation *annotation, enum annotate_level level);

/* Are lines or instructions left out of a function that is shown in full? */
bool annotation_folds(const struct annotation *annotation);
/* Is the line or instruction of FUNCTION with SUMS one of those left: hot (if there is a context), and not below a minimum? */
bool annotation_is_shown(const struct annotation *annotation, const struct annotate_sums *sums,
                         const struct annotate_function *function);

/* Keeps those of the COUNT functions that reach the minima, with one in place of all of a binary that is shown as a
 * whole, and returns how many there are. All must have their binary's sums. */
size_t annotate_select(const struct annotation *annotation, struct annotate_function *functions,
                       size_t count);

#endif
