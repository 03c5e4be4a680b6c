/* Source files: finds them, even if the program was built elsewhere, and reads their lines.
 *
 * Profiles are not trusted, and their paths may name any file. Therefore, only regular files are
 * shown that, after all links are followed, are below
 *
 *   - a folder of --source-path, or the NEW of a --prefix-map;
 *   - the current directory, unless it is /; only names with the suffix of a programming language;
 *   - /usr/include, /usr/local/include, /usr/lib or /usr/src.
 *
 * No part of the path below that folder may begin with a dot. The file must not be in /dev, /etc,
 * /proc, /run or /sys unless the folder is, and must not be larger than SOURCE_MAX_MB. If the
 * profile contains MD5 sums of the file, one of them must match.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_SOURCE_FILE_H
#define ANALYZE_ANNOTATE_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct source_search {
    const char *const *prefix_maps; /* "OLD=NEW": replace the prefix OLD of paths by NEW */
    size_t prefix_map_count;
    const char *const *folders;
    size_t folder_count;
    const char *const
        *md5s; /* in lower-case hexadecimal; one of them must match (none: any file) */
    size_t md5_count;
};

enum { SOURCE_MAX_MB = 256 }; /* maximum size of a source file */

/* The reason why a source is not shown: a file was found that must not be shown or is too large, or
 * one with another MD5, the path of which the caller frees (NULL: none). */
struct source_refusal {
    bool forbidden, large;
    char *other;
};

struct source_file;

/* Opens the source that was compiled as PATH: PATH itself (after applying the first matching prefix
 * map), otherwise successively shorter suffixes of PATH in each folder, down to the base name.
 * Returns NULL with REFUSAL filled if none can be shown. */
struct source_file *source_file_open(const char *path, const struct source_search *search,
                                     struct source_refusal *refusal);
void source_file_close(struct source_file *source);

/* The path at which SOURCE was found, borrowed until source_file_close. */
const char *source_file_path(const struct source_file *source);

/* The time of the last modification of SOURCE. */
time_t source_file_changed(const struct source_file *source);

/* Reads line NUMBER (>= 1), which must be after the previous one. Returns its text without the line
 * end, at most 64 KiB, borrowed until the next call. Returns NULL if the file has fewer lines. */
const char *source_file_line(struct source_file *source, uint64_t number);

#endif
