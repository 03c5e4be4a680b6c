/* Source files: finds them, even if the program was built elsewhere, and reads their lines.
 *
 * Profiles are not trusted, and their paths may name any file. Therefore only regular files are shown that are, after
 * following all links, below
 *
 *   - a folder of --source-path, or the NEW of a --prefix-map;
 *   - the current directory, unless it is /: only names with the suffix of a programming language;
 *   - /usr/include, /usr/local/include, /usr/lib and /usr/src;
 *
 * No part of the path below that folder may begin with a dot. The file must not be in /dev, /etc, /proc, /run or /sys unless the
 * folder is, and must not be larger than SOURCE_MB. If the profile records MD5 sums of the file, one of them must match.
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
        *md5s; /* in lower-case hexadecimal, one of which must match; none: any file */
    size_t md5_count;
};

enum { SOURCE_MB = 256 }; /* of a source file, at most */

/* Why a source is not shown: whether a file was found that must not be shown or that is too large, and the path of a file with
 * another MD5 (NULL: none; caller frees). */
struct source_refusal {
    bool forbidden, large;
    char *other;
};

struct source_file;

/* Opens the source that was compiled as PATH: at PATH itself (after applying the first matching prefix map), else in
 * each folder by shorter and shorter tails of PATH, down to the base name. Returns NULL with REFUSAL filled. */
struct source_file *source_file_open(const char *path, const struct source_search *search,
                                     struct source_refusal *refusal);
void source_file_close(struct source_file *source);

/* The path where SOURCE was found; borrowed until source_file_close. */
const char *source_file_path(const struct source_file *source);

/* The time of its last modification. */
time_t source_file_changed(const struct source_file *source);

/* Reads line NUMBER (>= 1), which must be after the previous one. Returns its text without the line end, at most 64
 * KiB, borrowed until the next call; NULL if the file has fewer lines. */
const char *source_file_line(struct source_file *source, uint64_t number);

#endif
