/* Annotated machine code: the instructions of a function with their time and energy.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_ASM_H
#define ANALYZE_ANNOTATE_ANNOTATE_ASM_H

#include "analyze/annotate/listing.h"
#include "analyze/code/code_files.h"

/* Shows the instructions of FUNCTION, which are read from FILES. */
void show_assembly(struct listing *listing, struct annotate_function *function,
                   struct code_files *files);

#endif
