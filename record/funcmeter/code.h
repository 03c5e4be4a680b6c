/* The code of an ELF file, and whether the first instructions of its functions may be moved.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_CODE_H
#define RECORD_FUNCMETER_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/elf/elf_file.h"
#include "formats/elf/elf_functions.h"
#include "record/funcmeter/machine.h"

struct code;

/* Reads the code of FILE, for a machine that machine_find returns, and notes where its direct
 * branches lead. FUNCTIONS, sorted by address, show where instructions begin. Caller deletes. */
struct code *code_new(const struct elf_file *file, const struct elf_function *functions,
                      size_t count);
void code_delete(struct code *code);

/* Returns the machine of the code. */
const struct machine *code_machine(const struct code *code);

/* Returns the number of parts of the code. */
size_t code_parts(const struct code *code);

/* Returns the number of bytes at ADDRESS, the beginning of a function, that have to stay there. */
size_t code_kept(const struct code *code, uint64_t address);

/* Returns the length of the instruction at ADDRESS; 0: there is none. */
size_t code_length(const struct code *code, uint64_t address);

/* Returns why a breakpoint of the kernel would not count the calls of the function at ADDRESS;
 * NULL: it would count them. */
const char *code_why_no_probe(const struct code *code, uint64_t address);

/* A function of SIZE bytes (0: unknown) begins at ADDRESS, and the next one at NEXT. Returns how
 * many of its bytes, after those that stay, must be moved to make room for a jump of ROOM bytes; or
 * 0, with the reason in *WHY, if that is impossible, for example because branches lead there and
 * cannot be CHANGED. */
size_t code_movable(const struct code *code, uint64_t address, uint64_t size, uint64_t next,
                    size_t room, bool changed, const char **why);

/* A direct branch. */
struct code_branch {
    uint64_t at, target;
};

/* Returns the branches to SIZE bytes at ADDRESS, the beginning of a function, that would have to be
 * changed if these bytes were moved. Of the branches to the first byte, it returns only those of
 * the function itself that are not calls. None for machines without write_branch. */
const struct code_branch *code_branches(const struct code *code, uint64_t address, size_t size,
                                        size_t *count);

/* Returns where the next function after the one at ADDRESS begins; UINT64_MAX: unknown. */
uint64_t code_next(const struct code *code, uint64_t address);

enum { CODE_GAPS = 16 };

/* Finds up to CODE_GAPS places with ROOM bytes of padding between functions, in reach of a short
 * jump at ADDRESS. Returns their number. */
size_t code_gaps(const struct code *code, uint64_t address, size_t room, uint64_t gaps[CODE_GAPS]);

/* Copies up to SIZE bytes at ADDRESS. Returns how many of them the code contains. */
size_t code_peek(const struct code *code, uint64_t address, uint8_t *to, size_t size);

/* Copies SIZE bytes at ADDRESS. Returns false if the code does not contain all of them. */
bool code_read(const struct code *code, uint64_t address, uint8_t *to, size_t size);

#endif
