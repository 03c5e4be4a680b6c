/* Finds the mapping that contained an address of a process at a given time. Processes start, fork, execute programs
 * and map libraries during the run.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_ADDRESS_SPACES_H
#define CONVERT_SYMBOLIZE_ADDRESS_SPACES_H

#include "convert/symbolize/symbolizer.h"
#include "formats/raw/raw_extension.h"

struct address_spaces;

/* Makes the address spaces for the images and mappings of EXT, which is borrowed until
 * address_spaces_delete. */
struct address_spaces *address_spaces_new(const struct raw_extension *ext);
void address_spaces_delete(struct address_spaces *spaces);

/* Returns the *COUNT distinct mappings of all images; borrowed until address_spaces_delete. */
const struct code_map *address_spaces_maps(const struct address_spaces *spaces, size_t *count);

/* Advances IMAGE to TIME_NS, which must not be before the previous time. Returns a number, never 0,
 * that identifies the image and its present mappings, and changes when they change. Sets *UNTIL_NS
 * to the time until which the number is valid. */
uint32_t address_spaces_at(struct address_spaces *spaces, uint32_t image, uint64_t time_ns,
                           uint64_t *until_ns);

/* Returns the index of the mapping that contains PC in IMAGE at the time of the last
 * address_spaces_at; UINT32_MAX for none. The ptrace engine notices mappings late: if there is none
 * yet, returns the mapping that it notices next there, within a second. */
uint32_t address_spaces_find(const struct address_spaces *spaces, uint32_t image, uint64_t pc);

/* The same at TIME_NS, which must not be before that time. */
uint32_t address_spaces_find_later(const struct address_spaces *spaces, uint32_t image, uint64_t pc,
                                   uint64_t time_ns);

/* Returns whether code of mapping INDEX (UINT32_MAX: outside all mappings) can come from a JIT,
 * because it is neither a file nor the vdso. */
bool address_spaces_is_anonymous(const struct address_spaces *spaces, uint32_t index);

#endif
