/* A listing of annotated lines: text or table rows.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_LISTING_H
#define ANALYZE_ANNOTATE_LISTING_H

#include "analyze/annotate/annotate_table.h"

struct listing;

/* Starts a listing: text if FORMAT is NULL, otherwise a table. ANNOTATION and OUT are borrowed
 * until listing_close. */
struct listing *listing_open(struct annotation *annotation, const struct table_format *format,
                             struct output *out);
void listing_close(struct listing *listing);
struct annotation *listing_annotation(struct listing *listing);

/* listing_begin writes the heading of FUNCTION. listing_end must be called after its lines, and
 * writes a note if there were none. */
void listing_begin(struct listing *listing, const struct annotate_function *function);
void listing_end(struct listing *listing);

/* A section is a file or a range of code. A gap represents folded lines. */
void listing_section(struct listing *listing, const char *title);
void listing_gap(struct listing *listing);
/* Writes only the sums of FUNCTION, or of the binary that it represents. */
void listing_total(struct listing *listing, const struct annotate_function *function);
void listing_line(struct listing *listing, const struct annotate_function *function,
                  const struct listed *line);

#endif
