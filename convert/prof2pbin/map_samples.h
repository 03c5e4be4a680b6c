/* Counts the samples in each mapping, to decide which files are worth downloading.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_MAP_SAMPLES_H
#define CONVERT_PROF2PBIN_MAP_SAMPLES_H

#include "convert/symbolize/symbolizer.h"
#include "formats/raw/raw.h"

/* Reads all of RAW, a full profile, adds the number of running thread samples in each mapping of
 * SYMBOLIZER to SAMPLES [by mapping], and rewinds RAW. PROCESSES: the mappings are those of
 * address_spaces_maps. Returns 0, or -1 with ERR filled. */
int map_samples_count(struct raw_profile *raw, const struct symbolizer *symbolizer, bool processes,
                      uint64_t *samples, struct error *err);

#endif
