/* What identifies an ELF file without build-id: the bytes of its code.
 *
 * Stripping a file, copying it or touching it changes nothing of that, so a stripped program on a board and the same
 * program with symbols on another machine are the same file.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_CONTENT_H
#define FORMATS_ELF_ELF_CONTENT_H

#include "formats/elf/elf_file.h"

/* Writes "code:SIZE:XXH3" to ID: what is in the executable segments of FILE [bytes], and its XXH3-64 in hexadecimal;
 * "" if there is none, or if it cannot be read. Reads the segments once for each FILE. */
void elf_content_id(const struct elf_file *file, char id[ELF_CONTENT_ID]);

/* The same for a file of which it is not known what it contained: no file has this. */
extern const char elf_content_lost[];

/* Is ID such a text, where a build-id may be? NULL is allowed. */
bool elf_is_content_id(const char *id);

#endif
