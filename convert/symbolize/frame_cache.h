/* A cache on disk for results from debug information, so that it need not be read again for other
 * profiles of a program.
 *
 * It has one file per build-id, in $XDG_CACHE_HOME/pbin-tools (default ~/.cache/pbin-tools). A file
 * is used only if the user owns it, its checksum is correct, and it was made from the present debug
 * file; otherwise it is recreated. The total size of the files is at most 256 MiB: the least
 * recently used ones are deleted.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_FRAME_CACHE_H
#define CONVERT_SYMBOLIZE_FRAME_CACHE_H

#include "convert/dwarf/dwarf_worker.h"

struct frame_cache;

/* Opens the cache for IMAGE, whose debug information is in DEBUG (which may be IMAGE). The names in
 * answers are numbers in NAMES, which is borrowed until frame_cache_close. Returns NULL if there is
 * no cache folder or IMAGE has no build-id. */
struct frame_cache *frame_cache_open(const struct elf_file *image, const struct elf_file *debug,
                                     struct strings *names);

/* Returns whether the cache has all of COUNT addresses; false if CACHE is NULL. */
bool frame_cache_has(const struct frame_cache *cache, const uint64_t *addresses, size_t count);

/* Looks up COUNT addresses. Returns true if the cache has all of them, with ANSWER filled as by
 * dwarf_worker_ask, and SYMBOLS with the names that were added with the answer; false if CACHE is
 * NULL. */
bool frame_cache_find(struct frame_cache *cache, const uint64_t *addresses, size_t count,
                      struct dwarf_answer *answer, uint32_t *symbols);

/* Adds the frames in ANSWER for COUNT addresses that are not in the cache yet, and the names of
 * their functions in the symbol table, as numbers in NAMES. NULL is allowed. */
void frame_cache_add(struct frame_cache *cache, const uint64_t *addresses, size_t count,
                     const struct dwarf_answer *answer, const uint32_t *symbols);

/* Writes the additions, if possible, and frees CACHE. NULL is allowed. */
void frame_cache_close(struct frame_cache *cache);

#endif
