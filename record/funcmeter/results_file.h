/* The file to which funcmeter writes its results.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_RESULTS_FILE_H
#define RECORD_FUNCMETER_RESULTS_FILE_H

#include "base/output.h"
#include "record/funcmeter/funcmeter_options.h"
#include "record/funcmeter/results.h"

/* Opens the output of OPTIONS, stdout by default. Returns NULL with ERR filled. */
struct output *results_file_open(const struct funcmeter_options *options, struct error *err);

/* Writes RESULTS and ARCS to *OUT, or if this is NULL, to stderr, in the format of OPTIONS; sets
 * *OUT to NULL. Writes nothing if only stderr is left and OPTIONS request to be quiet. Returns 0,
 * or -1 with ERR filled. */
int results_file_write(const struct funcmeter_options *options, const struct meter_results *results,
                       const struct meter_arcs *arcs, const struct session *session,
                       const struct planner *planner, struct output **out, struct error *err);

#endif
