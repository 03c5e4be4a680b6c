/* Finds the addresses of instructions of a file that were not seen.
 *
 *   fill = code_fill_new(program, &search, reporter, err);
 *   code_fill_see(fill, address);                       for each address of the input
 *   while ((count = code_fill_next(fill, addresses, room)) > 0) ...
 *   code_fill_delete(fill);
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_ADDR2LINE_CODE_FILL_H
#define CONVERT_ADDR2LINE_CODE_FILL_H

#include "formats/elf/elf_search.h"

struct code_fill;

/* Opens PROGRAM. Returns NULL with ERR filled if it has no code that can be disassembled. SEARCH is
 * used to find its debug file. */
struct code_fill *code_fill_new(const char *program, const struct elf_search *search,
                                struct reporter *reporter, struct error *err);
/* NULL is allowed. */
void code_fill_delete(struct code_fill *fill);

/* Marks ADDRESS as seen. Addresses without code are ignored. */
void code_fill_see(struct code_fill *fill, uint64_t address);

/* Sets ADDRESSES to the next unseen addresses, at most ROOM, in the order of sections. Returns
 * their number; 0 if there are no more. */
size_t code_fill_next(struct code_fill *fill, uint64_t *addresses, size_t room);

#endif
