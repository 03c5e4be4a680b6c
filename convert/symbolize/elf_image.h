/* Headers of an ELF file or image: segments, sections, build-id, load bias.
 *
 * Everything is read with pread and checked against the size, never mapped: the file may be cut
 * short by somebody else while we look at it, and a mapped file would then be a SIGBUS.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_ELF_IMAGE_H
#define CONVERT_SYMBOLIZE_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct elf_segment {
    uint64_t offset, address, file_size, memory_size; /* [bytes] */
    bool executable;
};

struct elf_section {
    const char *name; /* borrowed from the image; "" when the name is unreadable */
    uint64_t address, offset, size, flags, entry_size;
    uint32_t type, link;
};

struct elf_image {
    char *path;            /* as it was opened; a label for an image in memory */
    int fd;                /* -1 for an image in memory */
    const uint8_t *memory; /* borrowed; NULL for a file */
    uint64_t size;         /* of file or image [bytes] */
    bool big_endian, is_64;
    uint16_t type, machine;       /* ET_..., EM_... */
    struct elf_segment *segments; /* PT_LOAD only, in file order */
    size_t segment_count;
    struct elf_section *sections; /* index as in the file; 0 of them is legal */
    size_t section_count;
    char *section_names;
    char build_id[129]; /* lower-case hex, "" if there is none */
};

/* Opens the regular file PATH. Returns NULL with ERR filled: not there (errno in *ERRNUM, which
 * is 0 otherwise), not ELF, headers outside the file. Freed by elf_image_delete. */
struct elf_image *elf_image_open(const char *path, int *errnum, struct error *err);

/* The same for SIZE bytes at MEMORY, borrowed until elf_image_delete; LABEL is for messages. */
struct elf_image *elf_image_from_memory(const uint8_t *memory, size_t size, const char *label,
                                        struct error *err);
void elf_image_delete(struct elf_image *image);

/* Copies SIZE bytes from OFFSET; false when they are not all there. */
bool elf_image_read(const struct elf_image *image, uint64_t offset, void *to, uint64_t size);

/* The first section of that NAME with contents in the file, or NULL. */
const struct elf_section *elf_image_section(const struct elf_image *image, const char *name);

/* The bytes of SECTION with a NUL behind them; caller frees. NULL when they are not in the
 * file, or more than 1 GiB. */
uint8_t *elf_image_contents(const struct elf_image *image, const struct elf_section *section);

/* A mapping as the profile has it. */
struct elf_mapping {
    uint64_t address, size; /* [bytes] */
    bool has_offset;
    uint64_t offset; /* in the file [bytes] */
    bool trusted;    /* build-ids agree, or it is the image itself: sizes need not */
};

/* Is the mapping one of this file? Then *BIAS is what to subtract from a program counter to have
 * an address of the file (modulo 2^64). */
bool elf_image_bias(const struct elf_image *image, const struct elf_mapping *mapping,
                    uint64_t *bias);

/* Size of the first executable segment in whole pages, for messages; 0 when there is none. */
uint64_t elf_image_code_size(const struct elf_image *image);

/* Is ADDRESS in an executable section (or segment, in a file without section headers)? */
bool elf_image_is_code(const struct elf_image *image, uint64_t address);

#endif
