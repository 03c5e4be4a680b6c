/* Where functions begin and end, from the unwind tables that stripped files keep: .eh_frame, on ARM .ARM.exidx, and
 * .debug_frame.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_FRAMES_H
#define FORMATS_ELF_ELF_FRAMES_H

#include "formats/elf/elf_file.h"

/* A function; both addresses are inside. */
struct elf_bounds {
    uint64_t begin, last;
};

/* Disjoint, in ascending order. All zero: none. */
struct elf_frames {
    struct elf_bounds *items;
    size_t count;
    bool damaged; /* some could not be read */
};

/* Reads the tables of FILE, in sections or, without section headers, where a segment refers to them. Only what is in the
 * code of FILE counts, and no function reaches beyond its section. Compilers cut some functions into parts (.cold), which
 * have bounds of their own; entries of .ARM.exidx have no end, so that a function there reaches to the next one, and
 * linkers join neighbours that unwind alike. Caller frees with elf_frames_free. */
struct elf_frames elf_frames_read(const struct elf_file *file);
void elf_frames_free(struct elf_frames *frames);

/* How many of FRAMES begin at ADDRESS or before. */
size_t elf_frames_until(const struct elf_frames *frames, uint64_t address);

#endif
