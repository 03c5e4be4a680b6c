/* Annotation: texts and ranges of lines as a listing wants them.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_TEXT_H
#define ANALYZE_ANNOTATE_ANNOTATE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* TEXT with tabs as spaces: to columns of the line, not of the terminal. Caller frees. */
char *text_expand_tabs(const char *text);

/* A demangled NAME without template arguments and parameters, which can be hundreds of characters.
 * Caller frees. */
char *text_short_name(const char *name);

/* Lines FIRST to LAST, to be shown. */
struct line_range {
    uint64_t first, last;
};

/* Sorts COUNT ranges and joins those that meet, or have no line between them but one. Returns how
 * many are left. */
size_t line_ranges_join(struct line_range *ranges, size_t count);

#endif
