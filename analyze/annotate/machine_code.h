/* Machine code of a file that was profiled: bytes and symbols by address.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_MACHINE_CODE_H
#define ANALYZE_ANNOTATE_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/report.h"

/* What a profile says about a mapped file. */
struct code_wanted {
    const char *label,
        *path;            /* as recorded, and the file that was used for its symbols ("" if none) */
    const char *build_id; /* lower-case hex, "": not known */
    const char *const *folders; /* where to look first */
    size_t folder_count;
};

struct machine_code;

/* Opens the ELF file that has the build-id, from the folders, its path, its label. One warning
 * through REPORTER when none has (NULL is returned), and when the profile knows no build-id, so
 * that the file need not be the one that ran. */
struct machine_code *machine_code_open(const struct code_wanted *wanted, struct reporter *reporter);
void machine_code_close(struct machine_code *code);

/* Borrowed until machine_code_close. The build-id is lower-case hex, "" when there is none. */
const char *machine_code_path(const struct machine_code *code);
const char *machine_code_build_id(const struct machine_code *code);

/* What machine_code_open is made of: an ELF file, NULL when PATH is none; its symbols, where there were none before:
 * returns whether there is a full table; takes DEBUG, and its symbols. */
struct machine_code *machine_code_try(const char *path);
bool machine_code_read_symbols(struct machine_code *code);
void machine_code_take_debug(struct machine_code *code, struct machine_code *debug);

/* ELF machine (EM_...), and whether it is big endian. */
unsigned machine_code_machine(const struct machine_code *code, bool *big_endian);

/* From an offset in the file to an address of the file. */
bool machine_code_at_offset(const struct machine_code *code, uint64_t offset, uint64_t *address);

/* From the distance to the begin of an executable mapping of MAP_SIZE bytes. */
bool machine_code_at_map(const struct machine_code *code, uint64_t map_size, uint64_t distance,
                         uint64_t *address);

/* A function of the symbol table. */
struct code_symbol {
    uint64_t address, size; /* [bytes] */
    const char *name;       /* borrowed until machine_code_close */
};

/* The function that ADDRESS is in; NULL for none. */
const struct code_symbol *machine_code_symbol(const struct machine_code *code, uint64_t address);

/* Up to SIZE bytes from ADDRESS, as far as the file has them; returns how many. */
size_t machine_code_read(const struct machine_code *code, uint64_t address, uint8_t *to,
                         size_t size);

#endif
