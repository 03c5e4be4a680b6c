/* How annotations are written: a listing that takes lines and makes text or table rows of them.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_SHOW_H
#define ANALYZE_ANNOTATE_ANNOTATE_SHOW_H

#include "analyze/annotate/annotate.h"

/* A line of source or an instruction; texts are borrowed during the call. */
struct listed {
    const struct annotate_sums *sums; /* NULL: nothing was seen there */
    const char *file, *inner;         /* inner: name of the inlined function, NULL or "": none */
    uint64_t line;                    /* 0: not known */
    uint64_t address;                 /* assembly only */
    const char *text;                 /* NULL: not known */
};

struct listing;

/* Lines as rows for programs. ANNOTATION and OUT are borrowed until annotate_table_close; NULL closes nothing. */
struct annotate_table;
struct annotate_table *annotate_table_open(const struct annotation *annotation,
                                           const struct table_format *format, struct output *out);
void annotate_table_row(struct annotate_table *table, const struct annotate_function *function,
                        const struct listed *line);
void annotate_table_close(struct annotate_table *table);

/* FUNCTIONS in their order on OUT. */
void show_functions(struct annotation *annotation, struct annotate_function *functions,
                    size_t count, const struct table_format *format, struct output *out);

/* The following show one function: in annotate_source.c and annotate_asm.c. */
void show_source(struct listing *listing, struct annotate_function *function);

/* Disassembles; what was opened for it stays in the struct for the next function. */
struct assembler;
struct assembler *assembler_new(void);
void assembler_delete(struct assembler *assembler);
void show_assembly(struct listing *listing, struct annotate_function *function,
                   struct assembler *assembler);

/* What they show it with. A section is a file or a range of code, a gap what was folded. */
struct annotation *listing_annotation(struct listing *listing);
void listing_section(struct listing *listing, const char *title);
void listing_gap(struct listing *listing);
void listing_line(struct listing *listing, const struct annotate_function *function,
                  const struct listed *line);

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
