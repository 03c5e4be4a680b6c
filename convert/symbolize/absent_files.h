/* Remembers which files do not exist, to avoid a system call for each: a program may have mapped a
 * hundred thousand libraries, each of which is searched for in forty folders.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_ABSENT_FILES_H
#define CONVERT_SYMBOLIZE_ABSENT_FILES_H

#include <stdbool.h>

struct absent_files;

struct absent_files *absent_files_new(void);
void absent_files_delete(struct absent_files *absent);

/* Returns whether the file PATH is known not to exist. */
bool absent_files_know(const struct absent_files *absent, const char *path);

/* Records that there is no file at PATH. If many files were missing in its folder, lists the
 * folder. */
void absent_files_add(struct absent_files *absent, const char *path);

#endif
