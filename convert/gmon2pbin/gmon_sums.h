/* Adds up gmon.out files: samples and time per function and bin, calls per caller and callee.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_GMON2PBIN_GMON_SUMS_H
#define CONVERT_GMON2PBIN_GMON_SUMS_H

#include "base/report.h"
#include "convert/gmon2pbin/gmon_program.h"
#include "formats/pbin/pbin.h"

/* The keys of the rows, in sorting order. PC is the beginning of the bin, rounded up, or the
 * beginning of the function if that is inside the bin. */
#define GMON_KEYS "binary,function,inline,file,line,pc"

struct gmon_sums;

struct gmon_sums *gmon_sums_new(void);
void gmon_sums_delete(struct gmon_sums *sums);

/* Adds GMON, of PROGRAM, sampled at RATE [Hz] (0: that of each of its histograms). The count of a bin is divided among
 * the functions that it overlaps, in exact integers: the parts add up exactly to the count, and their times to count /
 * rate. Returns 0, or -1 with ERR filled if counts are too large. */
int gmon_sums_add(struct gmon_sums *sums, const struct gmon *gmon, struct gmon_program *program,
                  uint32_t rate, struct reporter *reporter, struct error *err);

/* Divides TIME [2^-32 ns] among the rows in proportion to their samples, which replaces the times
 * by rates; no effect without samples. */
void gmon_sums_set_time(struct gmon_sums *sums, exact time);

/* Writes everything as one run called META->name to WRITER. META's samples must have been set from
 * gmon_sums_samples. */
void gmon_sums_write(const struct gmon_sums *sums, const struct pbin_meta *meta,
                     struct pbin_writer *writer);

/* Return the number of samples in all bins, and their time rounded to ns. */
uint64_t gmon_sums_samples(const struct gmon_sums *sums);
uint64_t gmon_sums_time(const struct gmon_sums *sums);

#endif
