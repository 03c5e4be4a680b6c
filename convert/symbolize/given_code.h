/* Mappings for the program counters of a board or a trace, as given by the user.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_GIVEN_CODE_H
#define CONVERT_SYMBOLIZE_GIVEN_CODE_H

#include <argp.h>

#include "base/report.h"
#include "convert/symbolize/symbolizer_input.h"
#include "formats/raw/raw.h"

struct given_code_options {
    const char *vmmap; /* text file of mappings, NULL: none */
    const char *elf;   /* bare-metal program that runs at its link addresses; NULL: none */
};

/* The options -m and -e; its input is a struct given_code_options. */
extern const struct argp given_code_argp;

/* Warns that addresses of FILE have no names if OPTIONS give no mappings. */
void given_code_warn(const struct given_code_options *options, const char *file,
                     struct reporter *reporter);

/* The mappings given by OPTIONS. All zero: empty. given_code_free frees them. */
struct given_code {
    struct raw_vmmap *vmmaps; /* read from the text file */
    uint8_t *image;           /* the bytes of the ELF file */
    char *label;
    struct code_map *maps; /* they borrow from the others */
    size_t count;
};

/* Reads the files named by OPTIONS. Returns 0, or -1 with ERR filled. */
int given_code_read(const struct given_code_options *options, struct given_code *code,
                    struct error *err);
void given_code_free(struct given_code *code);

#endif
