/* The folder of this user's cache: $XDG_CACHE_HOME/pbin-tools, or ~/.cache/pbin-tools.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_CACHE_FOLDER_H
#define CONVERT_SYMBOLIZE_CACHE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

struct cache_folder;

/* Opens it, and makes it if need be. Returns NULL if that is not possible, or if others may write to it. */
struct cache_folder *cache_folder_open(void);

/* Reads the file NAME: *SIZE bytes, to be freed; and notes that it was used. Returns NULL if there is none, if it is not a
 * regular file that only this user may write, or if it is larger than MOST. */
uint8_t *cache_folder_read(struct cache_folder *folder, const char *name, size_t most,
                           size_t *size);

/* Writes the file NAME as a whole or not at all, and deletes those unused for longest if there is too much. */
void cache_folder_write(struct cache_folder *folder, const char *name, const uint8_t *data,
                        size_t size);

/* NULL is allowed. */
void cache_folder_close(struct cache_folder *folder);

#endif
