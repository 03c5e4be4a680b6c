/* Annotation: the time and energy of functions, by source line or by instruction.
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
#include "analyze/attribute/weigh.h"
#include "base/report.h"
#include "formats/elf/elf_search.h"
#include "formats/pbin/pbin.h"
#include "formats/table/table.h"

/* The metric for shares and hot lines. */
enum annotate_metric { HEAT_TIME, HEAT_ENERGY, HEAT_SAMPLES, HEATS };

/* The level to which a minimum applies, and the detail in which a binary is shown. Instructions and
 * source lines have the same level. */
enum annotate_level { LEVEL_BINARY, LEVEL_FUNCTION, LEVEL_BLOCK, LEVEL_INSTRUCTION };

/* Items with less than LEAST seconds, joules (or the unit of the profile) or samples are left
 * out. */
struct annotate_minimum {
    enum annotate_level level;
    enum annotate_metric metric;
    double least;
};

struct annotate_options {
    const char *
        *functions; /* globs for demangled names; none: the function with the largest metric */
    size_t function_count, function_capacity;
    enum annotate_level level, external_level; /* for the target, and for other binaries */
    bool all;                                  /* no globs, but levels or minima: every function */
    struct annotate_minimum *minima;
    size_t minimum_count, minimum_capacity;
    const char **source_paths; /* folders of sources built elsewhere */
    size_t source_path_count, source_path_capacity;
    const char **prefix_maps; /* "OLD=NEW": recorded and local prefixes of source paths */
    size_t prefix_map_count, prefix_map_capacity;
    struct elf_search search;   /* to find binaries */
    struct pbin_keys keys;      /* only `caller` is used: charge time in the kernel to its caller */
    struct weigh_options weigh; /* options for weighing the samples of full profiles */
    unsigned given;             /* see struct attribution_options */
    bool add;                   /* the profiles are shards of one run; otherwise, each is a run */
    bool assembly;              /* show instructions instead of source lines */
    bool intel;                 /* use Intel syntax (only for x86) */
    enum annotate_metric metric;
    double threshold; /* lines with at least this share of their function are hot [%] */
    bool has_context;
    uint64_t context; /* show this many lines around each hot line; otherwise, whole functions */
    bool intervals;   /* show intervals of times, shares and energies from the number of samples */
    bool color;
    const struct table_style *style; /* of tables; NULL: default */
};

/* Sums over runs, which are exact like those of an aggregate. */
struct annotate_sums {
    exact time, energy, samples;
};

/* The sums of a line or instruction of a function. Texts are numbers of texts of the annotation. */
struct annotate_row {
    uint32_t binary, function, inner, file; /* inner: inlined function that contains the line */
    uint32_t module;                        /* index, or NO_MODULE if unknown */
    uint64_t line;                          /* 0: unknown */
    uint64_t address; /* of an instruction in its module, see annotate_module; otherwise 0 */
    struct annotate_sums sums;
};
#define NO_MODULE   UINT32_MAX
#define NO_CHECKSUM UINT32_MAX

/* A mapped file. Addresses of rows are relative to it, so that runs at different addresses
 * agree. */
struct annotate_module {
    uint32_t label, path, build_id; /* texts, see struct pbin_map */
    bool has_offset; /* addresses are offsets in the file; else from the start of the mapping */
    uint64_t size;   /* without offsets: size of the mapping [bytes], to find the segment */
};

/* A function to show: consecutive rows. With LEVEL_BINARY, it represents its whole binary, and
 * contains its sums. */
struct annotate_function {
    struct annotate_row *rows;
    size_t count;
    struct annotate_sums sums, binary_sums;
    enum annotate_level level;
};

struct annotation {
    const struct annotate_options *options;
    struct reporter *reporter;
    struct strings *texts;
    struct strings *keys, *module_keys; /* rows and modules as bytes; number - 1 = index */
    struct strings *warned;             /* files for which a message was printed */
    struct annotate_row *rows;
    size_t row_count, row_capacity;
    struct annotate_module *modules;
    size_t module_count, module_capacity;
    struct strings *checksum_keys; /* each a struct pbin_checksum, with numbers of TEXTS */
    struct annotate_checksum {
        uint32_t binary, md5;
        uint32_t next; /* next of the same file, or NO_CHECKSUM */
    } * checksums;
    size_t checksum_count, checksum_capacity;
    struct numbers checksum_files; /* texts of files with checksums */
    struct checksum_list {
        uint32_t first, count;
    } * checksum_lists; /* [checksum_files]: last checksum of each file */
    size_t checksum_list_capacity;
    struct pbin_meta meta; /* of the first profile */
    struct quantity quantity;
    bool any;
    uint64_t runs;
    struct annotate_sums total;   /* sum of all functions */
    struct annotate_sums sampled; /* without _idle and similar rows */
    uint64_t waiting;             /* thread samples without time, in all functions */
    /* sums of the absolute values added to time, energy and samples */
    unsigned __int128 most[3];
};

/* Returns a new, empty annotation. OPTIONS and REPORTER are borrowed until annotation_delete. */
struct annotation *annotation_new(const struct annotate_options *options,
                                  struct reporter *reporter);
void annotation_delete(struct annotation *annotation);

/* Adds the profile of READER, which must be at its beginning: a full profile, or a profile
 * aggregated by keys that include function, file and line (function and pc with options->assembly).
 * NAME is the name of its file. Returns 0, or -1 with ERR filled. */
int annotation_read(struct annotation *annotation, struct pbin_reader *reader, const char *name,
                    struct error *err);

/* The following functions are for other files of analyze/annotate/. */

/* Text NUMBER, borrowed until annotation_delete. */
const char *annotation_text(const struct annotation *annotation, uint32_t number);

/* Adds PART to TO. */
void annotate_sums_add(struct annotate_sums *to, const struct annotate_sums *part);

/* The *COUNT MD5 sums of the source file of ROW that binaries record, in hexadecimal; the source
 * must match one of them. The caller frees the array. Its texts are borrowed until
 * annotation_delete. */
const char **annotation_md5s(const struct annotation *annotation, const struct annotate_row *row,
                             size_t *count);

/* Returns whether this is the first call for the source PATH, so that each source is reported only
 * once. */
bool annotation_may_warn(const struct annotation *annotation, const char *path);

#endif
