/* The build-id that a linker left in an ELF file.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_BUILD_ID_H
#define RECORD_BUILD_ID_H

/* The build-id of the ELF file PATH in lower-case hex, "" when it has none or cannot be read.
 * Caller frees. */
char *build_id_of(const char *path);

#endif
