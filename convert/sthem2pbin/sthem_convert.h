/* Converts a sthem or Lynsyn export to pbin; each core becomes a thread.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_STHEM2PBIN_STHEM_CONVERT_H
#define CONVERT_STHEM2PBIN_STHEM_CONVERT_H

#include "base/output.h"
#include "base/report.h"
#include "convert/sthem2pbin/sthem_scan.h"
#include "convert/symbolize/given_code.h"
#include "convert/symbolize/symbolizer.h"

struct sthem_convert_options {
    const char *name; /* of the profile; NULL: of the file */
    uint64_t cpus;    /* 0: the cores that show a PC */
    struct given_code_options code;
    struct symbolizer_options symbols;
};

/* Writes STREAM, from which SUMMARY was made, to OUT. READING selects the sensors. Returns 0, or -1 with ERR filled. */
int sthem_convert(struct stream *stream, const struct sthem_options *reading,
                  const struct sthem_summary *summary, const struct given_code *code,
                  const struct sthem_convert_options *options, struct output *out,
                  struct reporter *reporter, struct error *err);

#endif
