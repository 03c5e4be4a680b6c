/* Functions that the compiler has inlined at all of their calls, according to the debug information
 * of their file.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_INLINED_H
#define RECORD_FUNCMETER_INLINED_H

#include <stdint.h>

/* Called for each such function, with its NAME for the linker, and the number of PLACES at which
 * its code is. */
typedef void inlined_found(void *opaque, const char *name, uint64_t places);

/* Reads the debug information of the ELF file at PATH, or of its separate debug file. Finds nothing
 * if there is none, or in damaged parts. The information is read in a separate process, because a
 * damaged file may crash it: this process must have only one thread. */
void inlined_read(const char *path, inlined_found *found, void *opaque);

#endif
