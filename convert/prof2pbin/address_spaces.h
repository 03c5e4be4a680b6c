/* Which mapping held an address of a process at a time: processes start, fork, execute programs, and map libraries while
 * samples go by.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_ADDRESS_SPACES_H
#define CONVERT_PROF2PBIN_ADDRESS_SPACES_H

#include "convert/symbolize/symbolizer.h"
#include "formats/raw/raw_extension.h"

struct address_spaces;

/* Of the images and mappings of EXT, which is borrowed until address_spaces_delete. */
struct address_spaces *address_spaces_new(const struct raw_extension *ext);
void address_spaces_delete(struct address_spaces *spaces);

/* The distinct mappings of all images; borrowed until address_spaces_delete. */
const struct code_map *address_spaces_maps(const struct address_spaces *spaces, size_t *count);

/* Goes on to TIME_NS, not before the last one, for IMAGE. Returns a number for what the image has mapped, never 0: another
 * one whenever that changes, and for each image. It stays the same until *UNTIL_NS. */
uint32_t address_spaces_at(struct address_spaces *spaces, uint32_t image, uint64_t time_ns,
                           uint64_t *until_ns);

/* Index of the mapping that holds PC in IMAGE at the last time, UINT32_MAX for none. */
uint32_t address_spaces_find(const struct address_spaces *spaces, uint32_t image, uint64_t pc);

/* Can code of mapping INDEX (UINT32_MAX: outside all) be made by a JIT? Not that of files and the vdso. */
bool address_spaces_is_anonymous(const struct address_spaces *spaces, uint32_t index);

#endif
