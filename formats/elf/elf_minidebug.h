/* The symbols that some distributions leave in stripped files: an ELF file, compressed with xz, in the section
 * .gnu_debugdata.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_MINIDEBUG_H
#define FORMATS_ELF_ELF_MINIDEBUG_H

#include "formats/elf/elf_file.h"

struct elf_minidebug {
    struct elf_file *file; /* NULL: none */
    uint8_t *bytes;        /* of FILE */
};

/* Unpacks and opens this file in FILE. Returns 0, with an empty MINIDEBUG if FILE has none; or -1
 * if it is damaged, implausibly large, or belongs to another file. Caller frees with
 * elf_minidebug_free. */
int elf_minidebug_open(struct elf_minidebug *minidebug, const struct elf_file *file);
void elf_minidebug_free(struct elf_minidebug *minidebug);

#endif
