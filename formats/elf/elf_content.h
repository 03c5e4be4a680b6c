/* Identifies an ELF file without build-id by the bytes of its code.
 *
 * Stripping, copying or touching a file does not change them, so that a stripped program on a board
 * and the same program with symbols on another machine have the same ID.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_CONTENT_H
#define FORMATS_ELF_ELF_CONTENT_H

#include "formats/elf/elf_file.h"

/* Writes "code:SIZE:XXH3" to ID: the size of the executable segments of FILE [bytes] and the XXH3-64 of their
 * contents in hexadecimal; "" if there are none, or if they cannot be read. Reads the segments once for each FILE. */
void elf_content_id(const struct elf_file *file, char id[ELF_CONTENT_ID]);

/* The same for a file whose contents are not known; no file has this ID. */
extern const char elf_content_lost[];

/* Returns whether ID is a text of elf_content_id, and not a build-id. NULL is allowed. */
bool elf_is_content_id(const char *id);

#endif
