/* Where the file behind a mapping's label may be.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_FIND_BINARY_H
#define CONVERT_SYMBOLIZE_FIND_BINARY_H

#include <stdbool.h>

#include "convert/symbolize/symbolizer.h"

/* Offers paths for LABEL to TAKE, in this order, until it returns true:
 *   1. each search path: with the whole label under it, then with its base name;
 *   2. an absolute label: under the sysroot, or as it is when there is no sysroot; a
 *      relative one: in the current directory;
 *   3. the base name in the current directory;
 *   4. the base name in the system's folders for libraries and programs (under the sysroot).
 * Whether a path exists is for TAKE to see. Returns whether one was taken. */
bool find_binary(const struct symbolizer_options *options, const char *label,
                 bool (*take)(void *context, const char *path), void *context);

/* Base name of LABEL, borrowed from it; all of it when it ends in '/'. */
const char *label_base_name(const char *label);

#endif
