/* Finds the bounds of functions in the unwind tables that stripped files keep: .eh_frame, .ARM.exidx (on ARM) and
 * .debug_frame.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_FRAMES_H
#define FORMATS_ELF_ELF_FRAMES_H

#include "formats/elf/elf_file.h"

/* A function; both addresses are inclusive. */
struct elf_bounds {
    uint64_t begin, last;
};

/* Disjoint, in ascending order. All zero: none. */
struct elf_frames {
    struct elf_bounds *items;
    size_t count;
    bool damaged; /* some functions could not be read */
};

/* Reads the tables of FILE from its sections or, if it has no section headers, from the location to
 * which a segment refers. Entries outside the code of FILE are ignored, and no function extends
 * beyond its section. Compilers split some functions into parts (.cold), which have separate
 * bounds. Entries of .ARM.exidx have no end: a function there extends to the next one, and linkers
 * join neighbours with the same unwinding. Caller frees with elf_frames_free. */
struct elf_frames elf_frames_read(const struct elf_file *file);
void elf_frames_free(struct elf_frames *frames);

/* The number of FRAMES that begin at or before ADDRESS. */
size_t elf_frames_until(const struct elf_frames *frames, uint64_t address);

#endif
