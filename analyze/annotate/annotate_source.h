/* Annotated source: the lines of a function, file by file, including those of inlined functions.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_SOURCE_H
#define ANALYZE_ANNOTATE_ANNOTATE_SOURCE_H

#include "analyze/annotate/listing.h"

/* Shows the source lines of FUNCTION, whose rows it sorts. */
void show_source(struct listing *listing, struct annotate_function *function);

#endif
