/* The cache folder of the user: $XDG_CACHE_HOME/pbin-tools, or ~/.cache/pbin-tools.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_CACHE_FOLDER_H
#define CONVERT_SYMBOLIZE_CACHE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

struct cache_folder;

/* Opens the folder, and creates it if necessary. Returns NULL if this fails, or if other users can
 * write to the folder. */
struct cache_folder *cache_folder_open(void);

/* Reads the file NAME, sets *SIZE [bytes], and records that the file was used; caller frees.
 * Returns NULL if there is no file, if it is not a regular file that only this user can write, or
 * if it is larger than MOST [bytes]. */
uint8_t *cache_folder_read(struct cache_folder *folder, const char *name, size_t most,
                           size_t *size);

/* Writes the file NAME completely or not at all, and deletes the least recently used files if the folder is too
 * large. */
void cache_folder_write(struct cache_folder *folder, const char *name, const uint8_t *data,
                        size_t size);

/* NULL is allowed. */
void cache_folder_close(struct cache_folder *folder);

#endif
