/* The targets of indirect jumps of a binary, as measured by another program. Each line of the file
 * BINARY.dynmap contains the address of a jump and that of a target, separated by a comma, in
 * hexadecimal with 0x or in decimal. Other lines are ignored.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_JUMP_TARGETS_H
#define ANALYZE_CODE_JUMP_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/report.h"

struct jump_targets {
    uint64_t *items; /* sorted */
    size_t count, capacity;
};

/* Reads the file that belongs to BINARY, if there is one. Warns through REPORTER if it cannot be
 * read or contains no such lines. */
void jump_targets_read(struct jump_targets *targets, const char *binary, struct reporter *reporter);
void jump_targets_free(struct jump_targets *targets);

/* Sets BEGINS[target - ADDRESS] for each target in the SIZE bytes at ADDRESS. */
void jump_targets_mark(const struct jump_targets *targets, uint64_t address, size_t size,
                       uint8_t *begins);

#endif
