/* Functions that the compiler has inlined wherever they are called, by the debug information of their file.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_METER_INLINED_H
#define RECORD_METER_INLINED_H

#include <stdint.h>

/* Called for each: NAME as the linker would call it, and at how many PLACES its code is. */
typedef void inlined_found(void *opaque, const char *name, uint64_t places);

/* Reads the debug information of the ELF file at PATH, or of its separate debug file. Without it, or where it is damaged, nothing
 * is found. It is read in a process of its own, which a damaged file may crash; call this with a single thread. */
void inlined_read(const char *path, inlined_found *found, void *opaque);

#endif
