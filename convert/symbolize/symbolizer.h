/* From a program counter to binary, function, source file and line: VMMap -> ELF -> DWARF.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOLIZER_H
#define CONVERT_SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/report.h"
#include "convert/symbolize/symbolizer_input.h"

/* A source position inside a function. Frame 0 is the innermost inlined function, the last one the concrete
 * function that holds the code (the one in the symbol table); all are borrowed until
 * symbolizer_delete. */
struct code_frame {
    const char *function;  /* linkage (mangled) name, or a label like LABEL_UNKNOWN */
    const char *demangled; /* for people; same as function where nothing is mangled */
    const char *file;      /* as DWARF has it, joined with its directory; "" if not known */
    uint32_t line;         /* 0 if not known; for outer frames: the line of the call */
    const char *checksum;  /* MD5 of the file in lower-case hexadecimal, "" if not known */
};

struct code_location {
    uint64_t pc;
    /* base name of the mapping's label, LABEL_UNKNOWN when that is empty, or LABEL_FOREIGN, LABEL_KERNEL;
     * borrowed as the frames are */
    const char *binary;
    uint32_t map;                    /* index of the mapping, UINT32_MAX for none */
    const struct code_frame *frames; /* at least one */
    size_t frame_count;
};

struct symbolizer;

/* MAPS are all mappings; warnings about binaries (missing, not the one that ran, unreadable DWARF) go through
 * REPORTER, once per binary, when the first address inside it is looked up. Never fails: what cannot be
 * found is a warning and LABEL_UNKNOWN. KALLSYMS that cannot be read is the one error: NULL with ERR filled. */
struct symbolizer *symbolizer_new(const struct code_map *maps, size_t map_count,
                                  const struct symbolizer_options *options,
                                  struct reporter *reporter, struct error *err);

/* The same for one file, which it takes: program counters are addresses of IMAGE. Never fails. */
struct symbolizer *symbolizer_new_file(struct elf_file *image,
                                       const struct symbolizer_options *options,
                                       struct reporter *reporter);
void symbolizer_delete(struct symbolizer *symbolizer);

/* Resolves COUNT program counters in one go (one question per binary to its DWARF worker). LOCATIONS[i]
 * answers PCS[i]; what they point to is borrowed until symbolizer_delete. "Unknown" is an ordinary
 * answer. Memory grows with the number of PCs: nothing is kept for a later call. Forks a
 * worker for each binary that has debug information; call it from a program with one thread. */
void symbolizer_resolve(struct symbolizer *symbolizer, const uint64_t *pcs, size_t count,
                        struct code_location *locations);

/* The same for program counters in mappings that are known: MAPS[i] is the index of the mapping of PCS[i], UINT32_MAX for
 * none. A program counter may come again, in another mapping. */
void symbolizer_resolve_in(struct symbolizer *symbolizer, const uint64_t *pcs, const uint32_t *maps,
                           size_t count, struct code_location *locations);

/* Index of the mapping that holds PC, the first one if several do; UINT32_MAX for none. */
uint32_t symbolizer_find_map(const struct symbolizer *symbolizer, uint64_t pc);

/* What was used for map INDEX, for the profile's metadata: path of the file (NULL when none was found),
 * its build-id as lower-case hex ("" when it has none), else the one that was recorded; both borrowed.
 * Loads the file if need be. */
const char *symbolizer_path(struct symbolizer *symbolizer, size_t index);
const char *symbolizer_build_id(struct symbolizer *symbolizer, size_t index);

#endif
