/* Annotation: chooses the functions that were asked for, and shows them.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_SHOW_H
#define ANALYZE_ANNOTATE_ANNOTATE_SHOW_H

#include "analyze/annotate/annotate.h"

/* Writes the functions that were asked for, most of the metric first: for people when FORMAT is
 * NULL, else a table with a row per line. What could not be found (sources, binaries) is a warning.
 * Returns 0, or -1 with ERR filled: no profile, no such function. Sorts the rows. */
int annotation_show(struct annotation *annotation, const struct table_format *format,
                    struct output *out, struct error *err);

#endif
