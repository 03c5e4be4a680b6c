/* The contents of a pbin: metadata, mappings, locations, threads, samples, power sources, readings, measures.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_DUMP_DUMP_H
#define ANALYZE_DUMP_DUMP_H

#include "analyze/code/code_names.h"
#include "formats/pbin/pbin.h"
#include "formats/table/table.h"

/* Selects what is shown, and how. Everything it points to is borrowed. */
struct dump_request {
    const struct table_format *format;
    const struct table_style *style;
    double start, end;       /* show only START <= time < END [s]; all: 0, infinity */
    bool *selected;          /* set to true by the first sample or reading between them */
    bool normalized;         /* samples and per thread: times since the first sample shown */
    size_t interpolate;      /* per thread: samples per row; 0: 1 */
    bool no_threads;         /* per thread: without the threads */
    struct pbin_keys keys;   /* name places in the code; at least one */
    struct code_names *code; /* for the keys basic-block, instruction and opcode */
};

/* Each reads all of READER and writes a table to OUT. Returns 0, or -1 with ERR filled. START and END apply only to
 * samples, readings and tables computed from samples. */

/* The metadata of the profile and its mappings: dump_meta_raw as stored, dump_meta with values formatted for reading
 * in the text formats. */
int dump_meta_raw(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err);
int dump_meta(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
              struct error *err);
/* A row per thread of each sample: sample, time [s], value, tid, CPU time [s], pc, binary, function, file, line. A
 * sample without threads has one row. */
int dump_samples(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err);
/* A row per thread: tid, pid, name and program. */
int dump_threads(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err);
/* A row per reading of a power source: time [s], the source and its properties, value, CPU time of the machine [s]. */
int dump_sources(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err);
int dump_readings(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err);
/* A row per sample: time [s], value, and a column with the place of each thread. A row of several samples has their
 * mean value; the other columns are those of the first sample. Needs 8 bytes of memory per thread sample. */
int dump_per_thread(struct pbin_reader *reader, const struct dump_request *request,
                    struct output *out, struct error *err);
/* A row per stay of a thread in one place, ordered by end: the thread, begin [s], duration [s], CPU time [s], samples,
 * and the place. */
int dump_gantt(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
               struct error *err);
/* A row per frame of each location, innermost first, with a column for the program counter that called the kernel if
 * any location has one. */
int dump_locations(struct pbin_reader *reader, const struct dump_request *request,
                   struct output *out, struct error *err);
/* For an aggregated profile: a row per value of a measure, or per bucket of a histogram. */
int dump_measures(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err);
int dump_histograms(struct pbin_reader *reader, const struct dump_request *request,
                    struct output *out, struct error *err);

#endif
