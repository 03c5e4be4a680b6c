/* Annotation: where the time and joules of a function went, source line by line or instruction by
 * instruction.
 *
 *   annotation = annotation_new(&options);
 *   annotation_read(annotation, reader, ...)   once per profile
 *   annotation_show(annotation, ...)           annotate_show.h
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_ANNOTATE_H
#define ANALYZE_ANNOTATE_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/attribute/quantity.h"
#include "base/report.h"
#include "formats/elf/elf_search.h"
#include "formats/pbin/pbin.h"
#include "formats/table/table.h"

/* What makes a line hot. */
enum annotate_metric { HEAT_TIME, HEAT_ENERGY, HEAT_SAMPLES };

struct annotate_options {
    const char *
        *functions; /* globs over demangled names; none: the function with the most of the metric */
    size_t function_count, function_capacity;
    const char **source_paths; /* folders that hold sources built elsewhere */
    size_t source_path_count, source_path_capacity;
    const char **prefix_maps; /* "OLD=NEW": how paths of sources begin, there and here */
    size_t prefix_map_count, prefix_map_capacity;
    struct elf_search search; /* for binaries */
    struct pbin_keys keys;    /* only whether the kernel's time is its caller's */
    bool assembly;            /* instructions instead of source lines */
    bool intel;               /* operands as Intel writes them, x86 only */
    enum annotate_metric metric;
    double threshold; /* a line with at least so much of its function is hot [%] */
    bool has_context;
    uint64_t context; /* show that many lines around each hot one and fold the rest; else whole
                         functions */
    bool color;
};

/* Sums over runs: exact, as those of an aggregate. */
struct annotate_sums {
    exact time, energy, samples;
};

/* What one line or instruction of a function collected. Texts are numbers in the annotation's. */
struct annotate_row {
    uint32_t binary, function, inner, file; /* inner: the inlined function that the line is of */
    uint32_t module;                        /* index; NO_MODULE: not known */
    uint64_t line;                          /* 0: not known */
    uint64_t address; /* of the instruction in its module, see there; else 0 */
    struct annotate_sums sums;
};
#define NO_MODULE UINT32_MAX

/* A mapped file: what addresses of rows are relative to, so that runs at other addresses agree. */
struct annotate_module {
    uint32_t label, path, build_id; /* texts as struct pbin_map has them */
    bool has_offset; /* addresses are offsets in the file; else from the mapping's begin */
    uint64_t size;   /* of the mapping [bytes], where that must tell which segment it is; else 0 */
};

/* A function that is shown: a run of rows. */
struct annotate_function {
    struct annotate_row *rows;
    size_t count;
    struct annotate_sums sums;
};

struct annotation {
    const struct annotate_options *options;
    struct reporter *reporter;
    struct strings *texts;
    struct strings *keys, *module_keys; /* of rows and modules as bytes; number - 1 = index */
    struct strings *warned;             /* messages about files: one each */
    struct annotate_row *rows;
    size_t row_count, row_capacity;
    struct annotate_module *modules;
    size_t module_count, module_capacity;
    struct pbin_meta meta; /* of the first profile */
    struct quantity quantity;
    bool any;
    uint64_t runs;
    struct annotate_sums total; /* of all functions */
    /* sums of what was added to time, energy, samples, without its sign */
    unsigned __int128 most[3];
};

/* OPTIONS and REPORTER are borrowed until annotation_delete. */
struct annotation *annotation_new(const struct annotate_options *options,
                                  struct reporter *reporter);
void annotation_delete(struct annotation *annotation);

/* Adds the profile that READER stands at the beginning of, full or aggregated by keys that tell
 * lines (instructions with options->assembly). NAME is that of the file. Returns 0, or -1 with ERR
 * filled. */
int annotation_read(struct annotation *annotation, struct pbin_reader *reader, const char *name,
                    struct error *err);

/* The rest is for the files that show. */

/* Text NUMBER, borrowed until annotation_delete. */
const char *annotation_text(const struct annotation *annotation, uint32_t number);

/* TO += PART. */
void annotate_sums_add(struct annotate_sums *to, const struct annotate_sums *part);

/* May there be a message about the source PATH? Once. */
bool annotation_may_warn(const struct annotation *annotation, const char *path);

#endif
