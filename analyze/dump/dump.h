/* The contents of a pbin: metadata, mappings, locations, threads, samples, power sources, readings, measures.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_DUMP_DUMP_H
#define ANALYZE_DUMP_DUMP_H

#include "formats/pbin/pbin.h"
#include "formats/table/table.h"

/* Each reads all of READER and writes a table to OUT. Returns 0, or -1 with ERR filled. */

/* The metadata of the profile as they are stored, and its mappings; dump_meta shows them for people in the formats that
 * are for people. */
int dump_meta_raw(struct pbin_reader *reader, const struct table_format *format,
                  const struct table_style *style, struct output *out, struct error *err);
int dump_meta(struct pbin_reader *reader, const struct table_format *format,
              const struct table_style *style, struct output *out, struct error *err);
/* A row per thread of each sample: sample, time [s], value, tid, CPU time [s], pc, binary, function, file, line. A
 * sample without threads has one row. */
int dump_samples(struct pbin_reader *reader, const struct table_format *format,
                 const struct table_style *style, struct output *out, struct error *err);
/* A row per thread: tid, pid, name and program. */
int dump_threads(struct pbin_reader *reader, const struct table_format *format,
                 const struct table_style *style, struct output *out, struct error *err);
/* A row per reading of a power source: time [s], the source and its properties, value, CPU time of the machine [s]. */
int dump_sources(struct pbin_reader *reader, const struct table_format *format,
                 const struct table_style *style, struct output *out, struct error *err);
int dump_readings(struct pbin_reader *reader, const struct table_format *format,
                  const struct table_style *style, struct output *out, struct error *err);
/* A row per frame of each location, innermost first; with the program counter that called the kernel, if any location
 * has one. */
int dump_locations(struct pbin_reader *reader, const struct table_format *format,
                   const struct table_style *style, struct output *out, struct error *err);
/* Of an aggregated profile: a row per value of a measure, and per bucket of a histogram. */
int dump_measures(struct pbin_reader *reader, const struct table_format *format,
                  const struct table_style *style, struct output *out, struct error *err);
int dump_histograms(struct pbin_reader *reader, const struct table_format *format,
                    const struct table_style *style, struct output *out, struct error *err);

#endif
