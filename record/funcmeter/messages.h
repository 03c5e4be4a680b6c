/* The messages of funcmeter, which are separate from its results.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_MESSAGES_H
#define RECORD_FUNCMETER_MESSAGES_H

#include "record/funcmeter/funcmeter_options.h"
#include "record/funcmeter/planner.h"
#include "record/funcmeter/results.h"
#include "record/funcmeter/session.h"

/* After the run, prints warnings about missing results. */
void messages_warn(struct funcmeter_options *options, const struct session *session,
                   struct planner *planner);

/* For --list, prints the functions that would be measured, and why others would not. */
void messages_list(const struct planner *planner);

/* Prints a line about the whole run. */
void messages_summarize(const struct funcmeter_options *options, const struct session *session,
                        const struct planner *planner, const struct meter_results *results);

#endif
