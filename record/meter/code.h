/* Machine code of x86-64: may the first instructions of a function be moved, and how do they look elsewhere?
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_METER_CODE_H
#define RECORD_METER_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/elf/elf_file.h"
#include "formats/elf/elf_functions.h"

struct code;

/* Reads the code of FILE and notes where its direct branches lead. FUNCTIONS, sorted by address, say where instructions
 * begin. Caller deletes. */
struct code *code_new(const struct elf_file *file, const struct elf_function *functions,
                      size_t count);
void code_delete(struct code *code);

/* In how many parts the code is. */
size_t code_parts(const struct code *code);

/* How many bytes at ADDRESS, the beginning of a function of SIZE bytes (0: not known) that is followed by another at NEXT,
 * must be moved to make room for a jump of ROOM bytes. Returns 0, with *WHY set to a text, where that is not possible. */
size_t code_movable(const struct code *code, uint64_t address, uint64_t size, uint64_t next,
                    size_t room, const char **why);

/* Where the function after the one at ADDRESS begins; UINT64_MAX: not known. */
uint64_t code_next(const struct code *code, uint64_t address);

enum { CODE_GAPS = 16, CODE_SHORT_JUMP = 2 /* bytes */ };

/* Finds up to CODE_GAPS places with ROOM bytes of padding between functions, in reach of a short jump at ADDRESS. Returns
 * their number. */
size_t code_gaps(const struct code *code, uint64_t address, size_t room, uint64_t gaps[CODE_GAPS]);

/* Copies SIZE bytes at ADDRESS. Returns false where the code does not have them. */
bool code_read(const struct code *code, uint64_t address, uint8_t *to, size_t size);

enum { CODE_LONGEST = 54 }; /* of moved code, with the jump back [bytes] */

/* Writes to TO the SIZE bytes of code at ADDRESS, as returned by code_movable, so that they do the same at PLACE while the
 * rest of the file is in memory with BIAS added to its addresses; and a jump to what follows them. Returns how many bytes
 * that are, or 0 where PLACE is too far. */
size_t code_move(const struct code *code, uint64_t address, size_t size, uint64_t bias,
                 uint64_t place, uint8_t to[CODE_LONGEST]);

#endif
