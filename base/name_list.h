/* Looks names up in lists.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_NAME_LIST_H
#define BASE_NAME_LIST_H

#include <stddef.h>

/* The index in NAMES, which has COUNT elements, of NAME or of its first LENGTH bytes; -1 if it is
 * missing. */
int name_find(const char *const *names, size_t count, const char *name);
int name_find_part(const char *const *names, size_t count, const char *name, size_t length);

#endif
