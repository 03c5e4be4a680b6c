/* Warns of filters that match no name in a profile, and suggests similar names.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_SUGGEST_H
#define ANALYZE_AGGREGATE_SUGGEST_H

#include "analyze/attribute/selection.h"
#include "base/report.h"
#include "formats/pbin/pbin.h"

/* Prints a warning for each glob of SELECTION that includes functions, binaries or files but
 * matches none in ALL, the definitions of the full profile FILE. */
void suggest_names(const struct selection *selection, const struct pbin_definitions *all,
                   const char *file, struct reporter *reporter);

/* Prints a similar warning if PHASE, the function that begins phases, is in no frame. Returns
 * whether it is missing. */
bool suggest_phase(const char *phase, const struct pbin_definitions *all, const char *file,
                   struct reporter *reporter);

#endif
