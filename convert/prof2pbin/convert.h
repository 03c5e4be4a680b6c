/* Converts a raw profile to pbin in one pass; each distinct program counter is resolved once.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_CONVERT_H
#define CONVERT_PROF2PBIN_CONVERT_H

#include "convert/converter.h"
#include "formats/pbin/pbin.h"
#include "formats/raw/raw.h"

struct convert_options {
    struct converter base;
    double volts;  /* supply voltage [V]; 0: not given */
    uint64_t cpus; /* 0: as the profile records */
};

/* Checks OPTIONS for RAW: a current needs volts, and a power must not have them. Returns 0, or -1 with ERR filled. */
int convert_check(const struct raw_profile *raw, const struct convert_options *options,
                  struct error *err);

/* Writes RAW to OUT. Warnings go to REPORTER. Returns 0, or -1 with ERR filled (also for errors of
 * OUT). */
int convert_raw(struct raw_profile *raw, const struct convert_options *options, struct output *out,
                struct reporter *reporter, struct error *err);

#endif
