/* Mappings of the profiled program, each with its file.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_CODE_MAPS_H
#define CONVERT_SYMBOLIZE_CODE_MAPS_H

#include "convert/symbolize/code_file.h"
#include "formats/elf/elf_match.h"

struct code_maps;

/* Copies MAPS (but not their images). OPTIONS and REPORTER are borrowed until code_maps_delete. */
struct code_maps *code_maps_new(const struct code_map *maps, size_t count,
                                const struct symbolizer_options *options,
                                struct reporter *reporter);
/* A single mapping of IMAGE at the addresses in its file. Takes ownership of IMAGE. */
struct code_maps *code_maps_new_file(struct elf_file *image,
                                     const struct symbolizer_options *options,
                                     struct reporter *reporter);
void code_maps_delete(struct code_maps *maps);

/* SAMPLES[i] is the number of samples in mapping i. Debug files are only downloaded for files with
 * at least 1 % of all samples; without this call, for all files. */
void code_maps_count(struct code_maps *maps, const uint64_t *samples);

/* Returns the index of the first mapping that contains PC; UINT32_MAX for none. */
uint32_t code_maps_find(const struct code_maps *maps, uint64_t pc);

/* The number of mappings. */
size_t code_maps_number(const struct code_maps *maps);

/* Name of mapping INDEX for messages, borrowed until code_maps_delete. */
const char *code_maps_name(const struct code_maps *maps, size_t index);

/* Returns the number of files that stay open, 1 to MAX_HELD, since descriptors may be limited.
 * These are the files that code_maps_file returned last. */
enum { MAX_HELD = 8 };
size_t code_maps_held(const struct code_maps *maps);

/* Returns the file of mapping INDEX, which is searched for at the first call; NULL after a warning
 * if it is not found. A call may close one file to open another: the result is borrowed for as many
 * calls as code_maps_held returns, including this one. Sets *MAPPING for elf_mapping_address,
 * borrowed until code_maps_delete. */
struct code_file *code_maps_file(struct code_maps *maps, size_t index,
                                 const struct elf_mapping **mapping);

/* The path of the file of mapping INDEX, NULL if there is no file; and its build-id, "" if it has
 * none. Borrowed until code_maps_delete. */
const char *code_maps_path(struct code_maps *maps, size_t index);
const char *code_maps_build_id(struct code_maps *maps, size_t index);

/* The offset in its file at which mapping INDEX begins, UINT64_MAX if there is no file and the
 * offset was not recorded. */
uint64_t code_maps_offset(struct code_maps *maps, size_t index);

#endif
