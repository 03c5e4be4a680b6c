/* Warns of conditions that no name of a profile meets, and suggests one that does.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_SUGGEST_H
#define ANALYZE_AGGREGATE_SUGGEST_H

#include "analyze/attribute/selection.h"
#include "base/report.h"
#include "formats/pbin/pbin.h"

/* Prints a warning for each glob of SELECTION that is to include functions, binaries or files, and matches none in ALL,
 * the definitions of the full profile FILE. */
void suggest_names(const struct selection *selection, const struct pbin_definitions *all,
                   const char *file, struct reporter *reporter);

/* The same for the function that begins phases, if it is in no frame. Returns whether it is missing. */
bool suggest_phase(const char *phase, const struct pbin_definitions *all, const char *file,
                   struct reporter *reporter);

#endif
