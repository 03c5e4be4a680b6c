/* Converts a sthem or Lynsyn export to pbin; each core becomes a thread.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_STHEM2PBIN_STHEM_CONVERT_H
#define CONVERT_STHEM2PBIN_STHEM_CONVERT_H

#include "base/output.h"
#include "base/report.h"
#include "convert/sthem2pbin/sthem_scan.h"
#include "convert/symbolize/symbolizer.h"
#include "formats/raw/raw.h"

struct sthem_convert_options {
    const char *name;  /* of the profile; NULL: of the file */
    uint64_t cpus;     /* 0: the cores that show a PC */
    const char *vmmap; /* text file of mappings, NULL: none */
    const char
        *elf; /* bare-metal program, running at the addresses where it was linked; NULL: none */
    struct symbolizer_options symbols;
};

/* The mappings given by OPTIONS. All zero: empty; sthem_code_free frees it. */
struct sthem_code {
    struct raw_vmmap *vmmaps; /* read from the text file */
    uint8_t *image;           /* the bytes of the ELF file */
    char *label;
    struct code_map *maps; /* borrow from the others */
    size_t count;
};

/* Returns 0, or -1 with ERR filled. */
int sthem_code_read(const struct sthem_convert_options *options, struct sthem_code *code,
                    struct error *err);
void sthem_code_free(struct sthem_code *code);

/* Writes STREAM, from which SUMMARY was made, to OUT. READING selects the sensors. Returns 0, or -1 with ERR filled. */
int sthem_convert(struct stream *stream, const struct sthem_options *reading,
                  const struct sthem_summary *summary, const struct sthem_code *code,
                  const struct sthem_convert_options *options, struct output *out,
                  struct reporter *reporter, struct error *err);

#endif
