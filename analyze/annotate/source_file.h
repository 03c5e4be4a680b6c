/* Source files: searches those built elsewhere, and reads lines.
 *
 * Profiles come from anyone, and their paths may name any file: shown are only regular files that are, after following
 * all links, below
 *
 *   - a folder of --source-path, or the NEW of a --prefix-map;
 *   - the current directory, unless it is /: only names with the suffix of a programming language;
 *   - /usr/include, /usr/local/include, /usr/lib and /usr/src;
 *
 * where no part of the path below that folder begins with a dot, and the file is not in /dev, /etc, /proc, /run or /sys
 * unless the folder is; and their MD5 must be one that the profile has, if it has any.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_SOURCE_FILE_H
#define ANALYZE_ANNOTATE_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct source_search {
    const char *const *prefix_maps; /* "OLD=NEW": replace the prefix OLD of a path by NEW */
    size_t prefix_map_count;
    const char *const *folders;
    size_t folder_count;
    const char *const
        *md5s; /* in lower-case hexadecimal: the file must have one; none: any file will do */
    size_t md5_count;
};

/* Why a source is not shown: whether there is a file that must not be shown, and the path of one that has another MD5 (NULL:
 * none; caller frees), in place of it. */
struct source_refusal {
    bool forbidden;
    char *other;
};

struct source_file;

/* Opens the source compiled as PATH: there (after applying the first matching prefix map), else by ever shorter tails
 * of PATH in each folder, down to the base name. Returns NULL with REFUSAL filled. */
struct source_file *source_file_open(const char *path, const struct source_search *search,
                                     struct source_refusal *refusal);
void source_file_close(struct source_file *source);

/* The path at which it was found; borrowed until source_file_close. */
const char *source_file_path(const struct source_file *source);

/* The time of its last modification. */
time_t source_file_changed(const struct source_file *source);

/* Reads line NUMBER (>= 1), which must be after the previous one. Returns its text without the line end, at most 64
 * KiB, borrowed until the next call; NULL if the file has fewer lines. */
const char *source_file_line(struct source_file *source, uint64_t number);

#endif
