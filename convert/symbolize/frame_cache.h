/* Answers of debug information, kept on disk: the second profile of a program need not read it again.
 *
 * A file per build-id in $XDG_CACHE_HOME/pbin-tools (default ~/.cache/pbin-tools). It is believed only if it is the
 * user's own, has the right checksum and was made from the debug file that is there now; whatever is wrong with it, it
 * is made anew. Together the files have at most 256 MiB: those unused for longest are deleted.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_FRAME_CACHE_H
#define CONVERT_SYMBOLIZE_FRAME_CACHE_H

#include "convert/dwarf/dwarf_worker.h"

struct frame_cache;

/* Opens the cache for IMAGE, whose debug information is in DEBUG (may be IMAGE). The names in answers are numbers of NAMES,
 * borrowed until frame_cache_close. Returns NULL if there is no folder for it or no build-id. */
struct frame_cache *frame_cache_open(const struct elf_file *image, const struct elf_file *debug,
                                     struct strings *names);

/* Looks up COUNT addresses. Returns whether it knows all of them, with ANSWER filled as by dwarf_worker_ask, and SYMBOLS with
 * the names that were added with it. CACHE: NULL knows nothing. */
bool frame_cache_find(struct frame_cache *cache, const uint64_t *addresses, size_t count,
                      struct dwarf_answer *answer, uint32_t *symbols);

/* Adds what ANSWER says about COUNT addresses that are not known yet, and the names that their functions have by symbols,
 * numbers of NAMES. NULL is allowed. */
void frame_cache_add(struct frame_cache *cache, const uint64_t *addresses, size_t count,
                     const struct dwarf_answer *answer, const uint32_t *symbols);

/* Writes what was added, if possible, and frees. NULL is allowed. */
void frame_cache_close(struct frame_cache *cache);

#endif
