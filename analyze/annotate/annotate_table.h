/* Annotated lines as a table.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_TABLE_H
#define ANALYZE_ANNOTATE_ANNOTATE_TABLE_H

#include "analyze/annotate/annotate.h"

/* A line of source or an instruction. Its texts are borrowed during the call. */
struct listed {
    const struct annotate_sums *sums; /* NULL if it has no samples */
    const char *file, *inner;         /* inner: the inlined function; NULL or "" if there is none */
    uint64_t line;                    /* 0: unknown */
    uint64_t address;                 /* assembly only */
    const uint64_t *block;            /* address at which its basic block begins; NULL: unknown */
    const char *text;                 /* NULL: unknown */
};

/* A table with a row for each line. ANNOTATION and OUT are borrowed until annotate_table_close,
 * which accepts NULL. */
struct annotate_table;
struct annotate_table *annotate_table_open(const struct annotation *annotation,
                                           const struct table_format *format, struct output *out);
void annotate_table_row(struct annotate_table *table, const struct annotate_function *function,
                        const struct listed *line);
void annotate_table_close(struct annotate_table *table);

#endif
