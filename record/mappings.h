/* The executable mappings that a program has had.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_MAPPINGS_H
#define RECORD_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/raw/raw_extension.h"

struct address_range {
    uint64_t start, end;
};

/* Zeroed it is empty. */
struct mappings {
    /* file-backed ones, in order of appearance; the first is the program itself */
    struct raw_map *maps;
    size_t count, capacity;
    struct address_range *known; /* whatever is executable now, sorted by address */
    size_t known_count, known_capacity;
    uint64_t vdso_address; /* 0: none */
    uint8_t *vdso;         /* its image */
    size_t vdso_size;
};

void mappings_free(struct mappings *mappings);

/* Reads /proc/PID/maps; what was not there before is appended. FRESH: PID has just started a
 * program, and the vdso is read as well. Returns how many maps are new. */
size_t mappings_read(struct mappings *mappings, pid_t pid, bool fresh);

/* Was PC in an executable mapping, of whatever kind, when they were last read? */
bool mappings_know(const struct mappings *mappings, uint64_t pc);

#endif
