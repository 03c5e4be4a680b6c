/* Annotation: chooses the functions to show, and their level of detail.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_SELECT_H
#define ANALYZE_ANNOTATE_ANNOTATE_SELECT_H

#include "analyze/annotate/annotate.h"

/* The names "time", "energy", "samples". */
extern const char *const annotate_metric_names[HEATS];

/* Sets LEVEL to the level that the first LENGTH bytes of TEXT name; "line" is LEVEL_INSTRUCTION.
 * Returns false if they do not name one. */
bool annotate_level_parse(const char *text, size_t length, enum annotate_level *level);
/* Parses a minimum such as "function:time=0.5" into MINIMUM. Returns NULL, or a static text that
 * describes what was expected. */
const char *annotate_minimum_parse(const char *text, struct annotate_minimum *minimum);

/* Returns whether SUMS reach all minima of LEVEL. */
bool annotate_reaches(const struct annotation *annotation, enum annotate_level level,
                      const struct annotate_sums *sums);
/* Returns whether the options include a minimum of LEVEL. */
bool annotate_has_minimum(const struct annotation *annotation, enum annotate_level level);

/* Returns whether lines or instructions are left out of functions that are shown in full. */
bool annotation_folds(const struct annotation *annotation);
/* Returns whether the line or instruction of FUNCTION with SUMS is shown: it is hot (if there is a
 * context), and not below a minimum. */
bool annotation_is_shown(const struct annotation *annotation, const struct annotate_sums *sums,
                         const struct annotate_function *function);

/* Keeps those of the COUNT functions that reach the minima. A binary that is shown as a whole keeps
 * only one function. Returns the number of functions. All functions must have the sums of their
 * binaries. */
size_t annotate_select(const struct annotation *annotation, struct annotate_function *functions,
                       size_t count);

#endif
