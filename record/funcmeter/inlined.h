/* Functions that the compiler has inlined wherever they are called, according to the debug information of their file.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_INLINED_H
#define RECORD_FUNCMETER_INLINED_H

#include <stdint.h>

/* Called for each: NAME as the linker would call it, and at how many PLACES its code is. */
typedef void inlined_found(void *opaque, const char *name, uint64_t places);

/* Reads the debug information of the ELF file at PATH, or of its separate debug file. Finds nothing if there is none, or
 * where it is damaged. It is read in a separate process, because a damaged file may crash it; call this with a single
 * thread. */
void inlined_read(const char *path, inlined_found *found, void *opaque);

#endif
