/* Annotation: chooses functions, and shows them.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_SHOW_H
#define ANALYZE_ANNOTATE_ANNOTATE_SHOW_H

#include "analyze/annotate/annotate.h"

/* Writes the functions chosen by the options, largest metric first: as text if FORMAT is NULL, else as a table with a
 * row per line. Missing sources and binaries are warnings. Returns 0, or -1 with ERR filled: no profile, or no function
 * matches. Sorts the rows. */
int annotation_show(struct annotation *annotation, const struct table_format *format,
                    struct output *out, struct error *err);

#endif
