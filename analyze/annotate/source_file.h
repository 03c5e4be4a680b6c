/* Source files: found although they were built elsewhere, read line by line.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_SOURCE_FILE_H
#define ANALYZE_ANNOTATE_SOURCE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct source_search {
    const char *const
        *prefix_maps; /* "OLD=NEW": a path that begins with OLD begins with NEW here */
    size_t prefix_map_count;
    const char *const *folders;
    size_t folder_count;
};

struct source_file;

/* Opens the source that was compiled as PATH: there (by the first prefix map that fits), else what
 * is left of PATH in a folder, longest first, down to the base name. Regular files only. Returns
 * NULL when there is none. */
struct source_file *source_file_open(const char *path, const struct source_search *search);
void source_file_close(struct source_file *source);

/* Where it was found; borrowed until source_file_close. */
const char *source_file_path(const struct source_file *source);

/* When it was last changed. */
time_t source_file_changed(const struct source_file *source);

/* Goes on to line NUMBER (from 1), which must lie behind the one before. Returns its text without
 * the line end, borrowed until the next call, cut after 64 KiB; NULL when the file has no such
 * line. */
const char *source_file_line(struct source_file *source, uint64_t number);

#endif
