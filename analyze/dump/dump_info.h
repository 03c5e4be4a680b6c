/* A line for each of many profiles.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_DUMP_DUMP_INFO_H
#define ANALYZE_DUMP_DUMP_INFO_H

#include "base/report.h"
#include "formats/pbin/pbin.h"
#include "formats/table/table.h"

struct dump_info;

/* Begins a table on OUT. All arguments are borrowed until dump_info_end. */
struct dump_info *dump_info_begin(const struct table_format *format,
                                  const struct table_style *style, struct output *out);

/* Adds a row for the profile at PATH, which is read from READER to its end: kind, runs, samples,
 * rate [Hz], span [s], threads, CPU time [s], energy [J], power [W], target. Values of several runs
 * are means per run. Returns 0, or -1 with ERR filled. */
int dump_info_add(struct dump_info *info, struct pbin_reader *reader, const char *path,
                  struct reporter *reporter, struct error *err);

/* Ends the table and frees INFO. */
void dump_info_end(struct dump_info *info);

#endif
