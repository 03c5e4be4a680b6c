/* Is this the file that ran? Where is a mapping in it?
 *
 * Build-ids decide where both sides have one: the size of a mapping then means nothing, as programs
 * map their own code again, in parts or as a whole. Otherwise size and content decide: the mapping
 * must be in a segment of code, and all of it where only one side has a build-id; a debug file must
 * be for the same machine and have the checksum that its link gives.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_MATCH_H
#define FORMATS_ELF_ELF_MATCH_H

#include "formats/elf/elf_file.h"

/* A mapping as a profile describes it. */
struct elf_mapping {
    uint64_t address, size; /* [bytes]; size 0: not known, with an offset only */
    bool has_offset;
    uint64_t offset;      /* in the file [bytes] */
    const char *build_id; /* lower-case hex of the file that ran; NULL or "": not known */
    bool is_image;        /* the file is the mapping's own bytes: it is the one that ran */
    uint64_t bias;        /* set by elf_match, for elf_mapping_address */
};

/* May FILE be the one that MAPPING was made of? Returns 0 with MAPPING->bias set, or -1 with ERR
 * filled: "not the file that ran: ...". */
int elf_match(const struct elf_file *file, struct elf_mapping *mapping, struct error *err);

/* The address of FILE (modulo 2^64) that the program counter PC in MAPPING means, after
 * elf_match. */
uint64_t elf_mapping_address(const struct elf_file *file, const struct elf_mapping *mapping,
                             uint64_t pc);

/* Is FILE for a program of that pointer size and byte order? Returns 0, or -1 with ERR filled. */
int elf_match_layout(const struct elf_file *file, bool is_64, bool big_endian, struct error *err);

/* Was DEBUG split off FILE, not off another build? CRC: the checksum in the link from FILE, NULL if DEBUG was found by
 * the build-id of FILE. */
bool elf_match_debug(const struct elf_file *file, const struct elf_file *debug,
                     const uint32_t *crc);

#endif
