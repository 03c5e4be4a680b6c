/* The contents of a pbin: metadata, mappings, locations, threads, samples, power sources, readings, measures.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_DUMP_DUMP_H
#define ANALYZE_DUMP_DUMP_H

#include "analyze/code/code_names.h"
#include "formats/pbin/pbin.h"
#include "formats/table/table.h"

/* What is shown, and how; what it points to is borrowed. */
struct dump_request {
    const struct table_format *format;
    const struct table_style *style;
    double start, end;     /* only what is at or after START and before END [s]; all: 0, infinity */
    size_t interpolate;    /* per thread: samples in a row; 0: 1 */
    bool no_threads;       /* per thread: without the threads */
    struct pbin_keys keys; /* names of places in the code; at least one */
    struct code_names *code; /* for the keys basic-block and instruction */
};

/* Each reads all of READER and writes a table to OUT. Returns 0, or -1 with ERR filled. START and END are only for samples,
 * readings and what follows from samples. */

/* The metadata of the profile as they are stored, and its mappings; dump_meta shows them for people in the formats that
 * are for people. */
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
/* A row per sample: time [s], value, and where each thread was, a column per thread that is seen. A row of several samples
 * has their mean value, and the rest of the first. Keeps 8 bytes per thread sample in memory. */
int dump_per_thread(struct pbin_reader *reader, const struct dump_request *request,
                    struct output *out, struct error *err);
/* A row per stay of a thread in one place, in the order in which they are left: the thread, begin [s], duration [s], CPU time
 * [s], samples, and the place. */
int dump_gantt(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
               struct error *err);
/* A row per frame of each location, innermost first; with the program counter that called the kernel, if any location
 * has one. */
int dump_locations(struct pbin_reader *reader, const struct dump_request *request,
                   struct output *out, struct error *err);
/* Of an aggregated profile: a row per value of a measure, and per bucket of a histogram. */
int dump_measures(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err);
int dump_histograms(struct pbin_reader *reader, const struct dump_request *request,
                    struct output *out, struct error *err);

#endif
