/* Converts the samples of a raw profile, batch by batch, to the columns of a pbin.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_CONVERT_SAMPLES_H
#define CONVERT_PROF2PBIN_CONVERT_SAMPLES_H

#include "convert/prof2pbin/convert_seen.h"
#include "convert/symbolize/locations.h"
#include "formats/raw/raw.h"

/* Writes all samples of RAW, a full profile, to WRITER, and makes LOCATIONS, which write to the
 * same WRITER, resolve their program counters. SEEN is NULL if the profile has neither processes
 * nor flags of thread samples. Returns 0, or -1 with ERR filled (also for errors of the output). */
int convert_samples(struct raw_profile *raw, struct pbin_writer *writer,
                    struct locations *locations, struct seen_conversion *seen,
                    struct reporter *reporter, struct error *err);

#endif
