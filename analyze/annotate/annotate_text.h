/* Annotation: texts and ranges of lines in a listing.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_TEXT_H
#define ANALYZE_ANNOTATE_ANNOTATE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* TEXT with tabs expanded to spaces, relative to its first character. The caller frees it. */
char *text_expand_tabs(const char *text);

/* The demangled NAME without template arguments and parameters, which can have hundreds of
 * characters. The caller frees it. */
char *text_short_name(const char *name);

/* Lines FIRST to LAST. */
struct line_range {
    uint64_t first, last;
};

/* Sorts COUNT ranges, and joins those that overlap, touch, or have only one line between them.
 * Returns the number of remaining ranges. */
size_t line_ranges_join(struct line_range *ranges, size_t count);

#endif
