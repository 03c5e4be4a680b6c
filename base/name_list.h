/* Looks names up in lists.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_NAME_LIST_H
#define BASE_NAME_LIST_H

#include <stddef.h>

/* The number of the one of COUNT NAMES that is NAME, or its first LENGTH bytes; -1: none is. */
int name_find(const char *const *names, size_t count, const char *name);
int name_find_part(const char *const *names, size_t count, const char *name, size_t length);

#endif
