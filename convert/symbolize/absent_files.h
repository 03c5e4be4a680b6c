/* Files that are known not to be there, without asking the kernel for each: a program may have mapped a hundred thousand
 * libraries that are looked for in forty folders.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_ABSENT_FILES_H
#define CONVERT_SYMBOLIZE_ABSENT_FILES_H

#include <stdbool.h>

struct absent_files;

struct absent_files *absent_files_new(void);
void absent_files_delete(struct absent_files *absent);

/* Is it known that there is no file at PATH? */
bool absent_files_know(const struct absent_files *absent, const char *path);

/* Takes note that there was none at PATH. A folder where many were missed is listed. */
void absent_files_add(struct absent_files *absent, const char *path);

#endif
