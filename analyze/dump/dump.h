/* The contents of a pbin: metadata, mappings, locations, threads, samples, power sources, readings
 * and measures.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_DUMP_DUMP_H
#define ANALYZE_DUMP_DUMP_H

#include "analyze/code/code_names.h"
#include "formats/pbin/pbin.h"
#include "formats/table/table.h"

/* Selects what is shown, and how. All pointers are borrowed. */
struct dump_request {
    const struct table_format *format;
    const struct table_style *style;
    double start, end;       /* show only START <= time < END [s]; 0, infinity: show all */
    bool *selected;          /* set to true by the first sample or reading in this range */
    bool normalized;         /* samples and per thread: show times since the first sample shown */
    size_t interpolate;      /* per thread: samples in each row; 0: 1 */
    bool no_threads;         /* per thread: leave out the threads */
    struct pbin_keys keys;   /* names of places in the code; at least one */
    struct code_names *code; /* for the keys basic-block, instruction and opcode */
};

/* Each of these reads all of READER, and writes a table to OUT. Returns 0, or -1 with ERR filled.
 * The members START and END of REQUEST apply only to samples, readings, and tables computed from
 * samples. */

/* The metadata of the profile and its mappings. dump_meta_raw writes values as stored; dump_meta
 * formats them for reading in the text formats. */
int dump_meta_raw(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err);
int dump_meta(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
              struct error *err);
/* A row for each thread sample: sample, time [s], value, tid, CPU time [s], pc, binary, function,
 * file, line. A sample without threads has one row. */
int dump_samples(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err);
/* A row for each thread: tid, pid, name and program. */
int dump_threads(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err);
/* A row for each reading of a power source: time [s], the source and its properties, value, CPU
 * time of the machine [s]. */
int dump_sources(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err);
int dump_readings(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err);
/* A row for each sample: time [s], value, and a column with the place of each thread. If a row
 * represents several samples, it has their mean value; other columns are those of the first sample.
 * Needs 8 bytes of memory per thread sample. */
int dump_per_thread(struct pbin_reader *reader, const struct dump_request *request,
                    struct output *out, struct error *err);
/* A row for each stay of a thread in one place, in the order of their ends: thread, begin [s],
 * duration [s], CPU time [s], samples, place. */
int dump_gantt(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
               struct error *err);
/* A row for each frame of each location, innermost first. If any location has a program counter
 * that called the kernel, it is shown in another column. */
int dump_locations(struct pbin_reader *reader, const struct dump_request *request,
                   struct output *out, struct error *err);
/* For an aggregated profile: a row for each value of a measure, or for each bucket of a
 * histogram. */
int dump_measures(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err);
int dump_histograms(struct pbin_reader *reader, const struct dump_request *request,
                    struct output *out, struct error *err);

#endif
