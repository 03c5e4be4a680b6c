/* Resolves a program counter to binary, function, source file and line: VMMap -> ELF -> DWARF.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOLIZER_H
#define CONVERT_SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/report.h"
#include "convert/symbolize/symbolizer_input.h"

/* A source position inside a function. Frame 0 is the innermost inlined function, the last one is
 * the concrete function that contains the code (the one in the symbol table). All pointers are
 * borrowed until symbolizer_delete. */
struct code_frame {
    const char *function;   /* linkage (mangled) name, or a label like LABEL_UNKNOWN */
    const char *demangled;  /* demangled name; same as function if that is not mangled */
    const char *file;       /* from DWARF, joined with its directory; "" if unknown */
    uint32_t line;          /* 0 if unknown; for outer frames: the line of the call */
    const char *checksum;   /* MD5 of the file in lower-case hexadecimal, "" if unknown */
    uint32_t discriminator; /* distinguishes parts of the line, only in frame 0; 0: none */
};

struct code_location {
    uint64_t pc;
    /* base name of the mapping's label, LABEL_UNKNOWN if that is empty, or LABEL_FOREIGN,
     * LABEL_KERNEL; borrowed like the frames */
    const char *binary;
    uint32_t map;                    /* index of the mapping, UINT32_MAX for none */
    const struct code_frame *frames; /* at least one */
    size_t frame_count;
};

struct symbolizer;

/* MAPS are all mappings. Warnings about binaries (missing, not the one that ran, unreadable DWARF)
 * go through REPORTER, once per binary, when its first address is looked up; such addresses become
 * LABEL_UNKNOWN. Returns NULL with ERR filled if the kallsyms file of OPTIONS cannot be read; there
 * are no other errors. */
struct symbolizer *symbolizer_new(const struct code_map *maps, size_t map_count,
                                  const struct symbolizer_options *options,
                                  struct reporter *reporter, struct error *err);

/* The same for a single file: program counters are addresses of IMAGE. Takes ownership of IMAGE.
 * Never fails. */
struct symbolizer *symbolizer_new_file(struct elf_file *image,
                                       const struct symbolizer_options *options,
                                       struct reporter *reporter);
void symbolizer_delete(struct symbolizer *symbolizer);

/* SAMPLES[i] is the number of samples in mapping i: no debug files are downloaded for files with
 * less than 1 % of all samples. Call it before the first lookup. */
void symbolizer_count(struct symbolizer *symbolizer, const uint64_t *samples);

/* Resolves COUNT program counters together (one request per binary to its DWARF worker).
 * LOCATIONS[i] is the result for PCS[i]; its pointers are borrowed until symbolizer_delete.
 * "Unknown" is a valid result. Memory grows with the number of PCs: results are not reused in later
 * calls. Forks a worker for each binary that has debug information; only call it from a program
 * with a single thread. */
void symbolizer_resolve(struct symbolizer *symbolizer, const uint64_t *pcs, size_t count,
                        struct code_location *locations);

/* The same for program counters in known mappings: MAPS[i] is the index of the mapping of PCS[i],
 * UINT32_MAX for none. The same program counter may occur in several mappings. */
void symbolizer_resolve_in(struct symbolizer *symbolizer, const uint64_t *pcs, const uint32_t *maps,
                           size_t count, struct code_location *locations);

/* Returns the index of the first mapping that contains PC; UINT32_MAX for none. */
uint32_t symbolizer_find_map(const struct symbolizer *symbolizer, uint64_t pc);

/* The file used for map INDEX, for the metadata of the profile: its path (NULL if no file was
 * found), and its build-id in lower-case hexadecimal. If no file was found or it has no build-id,
 * this is the recorded one, or "" if there is none. Both are borrowed until symbolizer_delete.
 * Loads the file if necessary. */
const char *symbolizer_path(struct symbolizer *symbolizer, size_t index);
const char *symbolizer_build_id(struct symbolizer *symbolizer, size_t index);

/* The offset in that file at which map INDEX begins, UINT64_MAX if it is unknown. */
uint64_t symbolizer_offset(struct symbolizer *symbolizer, size_t index);

#endif
