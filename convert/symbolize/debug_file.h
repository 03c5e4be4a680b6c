/* The separate file that holds the debug information of a stripped binary.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_DEBUG_FILE_H
#define CONVERT_SYMBOLIZE_DEBUG_FILE_H

#include "convert/symbolize/elf_image.h"

/* Finds it by build-id below SYSROOT/usr/lib/debug/.build-id (SYSROOT may be NULL), then by
 * .gnu_debuglink beside the binary, in .debug/ there, and below SYSROOT/usr/lib/debug, where its
 * checksum must agree. Returns NULL when there is none; else freed by elf_image_delete. */
struct elf_image *debug_file_open(const struct elf_image *image, const char *sysroot);

/* Does IMAGE itself hold debug information (compressed or not)? */
bool has_debug_info(const struct elf_image *image);

#endif
