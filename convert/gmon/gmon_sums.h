/* Adds up gmon.out files: samples and time per function and bin, calls per caller and callee.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_GMON_GMON_SUMS_H
#define CONVERT_GMON_GMON_SUMS_H

#include "base/report.h"
#include "convert/gmon/gmon_program.h"
#include "formats/pbin/pbin.h"

/* The keys of its rows, in the order in which they are sorted. PC is where the bin begins, rounded up, or the function where it begins
 * inside the bin. */
#define GMON_KEYS "binary,function,inline,file,line,pc"

struct gmon_sums;

struct gmon_sums *gmon_sums_new(void);
void gmon_sums_delete(struct gmon_sums *sums);

/* Adds GMON, of PROGRAM, sampled at RATE [Hz] (0: that of each of its histograms). A bin is shared
 * out over the functions that it overlaps by exact integers: their sum is the bin's count, and
 * their time the count / rate, to the last bit. Returns 0, or -1 with ERR filled: counts that do
 * not fit. */
int gmon_sums_add(struct gmon_sums *sums, const struct gmon *gmon, struct gmon_program *program,
                  uint32_t rate, struct reporter *reporter, struct error *err);

/* Writes everything as one run called META->name to WRITER. META's samples must have been set from
 * gmon_sums_samples. Returns 0 or -1 (error in the output's struct error). */
int gmon_sums_write(const struct gmon_sums *sums, const struct pbin_meta *meta,
                    struct pbin_writer *writer);

/* Number of samples in all bins; their time, [ns] rounded. */
uint64_t gmon_sums_samples(const struct gmon_sums *sums);
uint64_t gmon_sums_time(const struct gmon_sums *sums);

#endif
