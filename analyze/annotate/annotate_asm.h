/* Annotated machine code: the instructions of a function with their time and energy.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_ASM_H
#define ANALYZE_ANNOTATE_ANNOTATE_ASM_H

#include "analyze/annotate/listing.h"

/* Shows the instructions of FUNCTION. ASSEMBLER keeps files open for the next function. */
struct assembler;
struct assembler *assembler_new(void);
void assembler_delete(struct assembler *assembler);
void show_assembly(struct listing *listing, struct annotate_function *function,
                   struct assembler *assembler);

#endif
