/* Annotation: chooses functions, and shows them.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_SHOW_H
#define ANALYZE_ANNOTATE_ANNOTATE_SHOW_H

#include "analyze/annotate/annotate.h"

/* Writes the functions selected by the options, largest metric first: as text if FORMAT is NULL,
 * otherwise as a table with a row per line. Sorts the rows. Missing sources and binaries cause
 * warnings. Returns 0, or -1 with ERR filled if there is no profile, or if no function matches. */
int annotation_show(struct annotation *annotation, const struct table_format *format,
                    struct output *out, struct error *err);

#endif
