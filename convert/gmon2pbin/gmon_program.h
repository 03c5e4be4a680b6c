/* The program that wrote a gmon.out: its file, addresses and symbols.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_GMON2PBIN_GMON_PROGRAM_H
#define CONVERT_GMON2PBIN_GMON_PROGRAM_H

#include "base/report.h"
#include "convert/symbolize/symbolizer_input.h"
#include "formats/gmon/gmon.h"

struct gmon_program;

struct gmon_program_options {
    const char *elf; /* the program's file; NULL: found by the name of the gmon.out */
    bool has_bias;   /* BIAS is given: address in the file = address in the gmon.out - BIAS */
    uint64_t bias;
    struct symbolizer_options symbols;
};

/* Finds the program of GMON: OPTIONS->elf, else the one that follows from the name,
 *   gmon-UUID.out, gmon-UUID.N.out -> UUID.elf (OP-TEE),   gmon.PROGRAM.PID.out -> PROGRAM
 * (OpenBSD), in the search paths, beside GMON, in the current folder and in the system's. If it is not found, a
 * warning is printed and functions have no names. Returns NULL with ERR filled if the name implies no program, or if
 * the ELF file cannot be read or has another layout. OPTIONS, GMON and REPORTER are borrowed until
 * gmon_program_delete. */
struct gmon_program *gmon_program_open(const struct gmon *gmon,
                                       const struct gmon_program_options *options,
                                       struct reporter *reporter, struct error *err);
void gmon_program_delete(struct gmon_program *program);

/* The base name of the program; borrowed until gmon_program_delete. */
const char *gmon_program_name(const struct gmon_program *program);

/* Converts an address of the gmon.out to an address of the file. */
uint64_t gmon_program_address(const struct gmon_program *program, uint64_t recorded);

/* Returns whether ADDRESS of the file is code; true without a file. */
bool gmon_program_is_code(const struct gmon_program *program, uint64_t address);

/* Finds the symbol at ADDRESS of the file: sets *NAME to its linkage name (borrowed until
 * gmon_program_delete; LABEL_UNKNOWN: none) and *LAST to its last address. A symbol includes the
 * padding after it, which is never executed. */
void gmon_program_piece(const struct gmon_program *program, uint64_t address, uint64_t *last,
                        const char **name);

/* A source position. Texts are borrowed until gmon_program_delete. */
struct gmon_line {
    const char *inner; /* the innermost inlined function, demangled; NULL: no inlined code */
    const char *file;  /* "": unknown */
    uint32_t line;     /* 0: unknown */
};

/* Finds the source positions of COUNT addresses of the file. */
void gmon_program_lines(struct gmon_program *program, const uint64_t *addresses, size_t count,
                        struct gmon_line *lines);

#endif
