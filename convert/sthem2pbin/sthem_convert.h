/* Converts a sthem or Lynsyn export to pbin; each core becomes a thread.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_STHEM2PBIN_STHEM_CONVERT_H
#define CONVERT_STHEM2PBIN_STHEM_CONVERT_H

#include "convert/converter.h"
#include "convert/sthem2pbin/sthem_scan.h"

struct sthem_convert_options {
    struct converter base;
    uint64_t cpus; /* 0: the number of cores that show a PC */
};

/* Converts STREAM, from which SUMMARY was made, to OUT. READING selects the sensors. Returns 0, or
 * -1 with ERR filled. */
int sthem_convert(struct stream *stream, const struct sthem_options *reading,
                  const struct sthem_summary *summary, const struct given_code *code,
                  const struct sthem_convert_options *options, struct output *out,
                  struct reporter *reporter, struct error *err);

#endif
