/* Writes the sums of a dump of IgProf as an aggregated pbin: a row for each function, counters as measures.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_IGPROF2PBIN_IGPROF_ROWS_H
#define CONVERT_IGPROF2PBIN_IGPROF_ROWS_H

#include "base/report.h"
#include "convert/igprof2pbin/call_tree.h"
#include "formats/pbin/pbin.h"

/* Writes TREE to OUT. FILE is the name of the dump, for errors; NAME is the name of the profile.
 * Returns 0, or -1 with ERR filled. */
int igprof_rows_write(const struct igprof *igprof, const struct call_tree *tree, const char *file,
                      const char *name, struct output *out, struct error *err);

#endif
