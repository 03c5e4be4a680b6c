/* Checks whether a file is the one that ran, and locates a mapping in it.
 *
 * If both sides have a build-id, the build-ids decide; the size of the mapping is then irrelevant,
 * because programs may remap parts or all of their code. If the file that ran had none, but its
 * content was recorded (elf_content.h), the content decides in the same way. Otherwise sizes
 * decide: the mapping must be in a segment of code, and cover all of it if only one side has a
 * build-id. A debug file must be for the same machine and have the checksum in the link to it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_MATCH_H
#define FORMATS_ELF_ELF_MATCH_H

#include "formats/elf/elf_file.h"

/* A mapping as a profile describes it. */
struct elf_mapping {
    uint64_t address, size; /* [bytes]; size 0: unknown, only with an offset */
    bool has_offset;
    uint64_t offset; /* in the file [bytes] */
    /* of the file that ran: lower-case hex, or the result of elf_content_id; NULL, "": unknown */
    const char *build_id;
    bool is_image;  /* the file consists of the bytes of the mapping, so it is the one that ran */
    uint64_t bias;  /* set by elf_match, for elf_mapping_address */
    uint64_t start; /* set by elf_match: the offset in the file at which the mapping begins */
};

/* Returns whether FILE has the build-id ID, which NULL and "" are not. */
bool elf_has_build_id(const struct elf_file *file, const char *id);

/* Checks whether FILE can be the file that was mapped as MAPPING. Returns 0 with MAPPING->bias and
 * start set, or -1 with ERR filled: "not the file that ran: ...". */
int elf_match(const struct elf_file *file, struct elf_mapping *mapping, struct error *err);

/* The address in FILE (modulo 2^64) that corresponds to the program counter PC in MAPPING, after elf_match. */
uint64_t elf_mapping_address(const struct elf_file *file, const struct elf_mapping *mapping,
                             uint64_t pc);

/* Checks the pointer size and byte order of FILE. Returns 0, or -1 with ERR filled if one
 * differs. */
int elf_match_layout(const struct elf_file *file, bool is_64, bool big_endian, struct error *err);

/* Returns whether DEBUG is the debug file of FILE. CRC is the checksum in the link from FILE, or
 * NULL if DEBUG was found by the build-id of FILE. If DEBUG belongs to another build, also fills
 * ERR. */
bool elf_match_debug(const struct elf_file *file, const struct elf_file *debug, const uint32_t *crc,
                     struct error *err);

#endif
