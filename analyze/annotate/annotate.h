/* Annotation: the time and energy of a function, per source line or per instruction.
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

/* The metric of shares and hot lines. */
enum annotate_metric { HEAT_TIME, HEAT_ENERGY, HEAT_SAMPLES, HEATS };

/* What a minimum is for, and how much of a binary is shown; an instruction stands for a line, too. */
enum annotate_level { LEVEL_BINARY, LEVEL_FUNCTION, LEVEL_BLOCK, LEVEL_INSTRUCTION };

/* Less than this is left out: LEAST seconds, joules (or the unit of the profile) or samples. */
struct annotate_minimum {
    enum annotate_level level;
    enum annotate_metric metric;
    double least;
};

struct annotate_options {
    const char *
        *functions; /* globs over demangled names; none: the function with the largest metric */
    size_t function_count, function_capacity;
    enum annotate_level level, external_level; /* of the target, and of other binaries */
    bool all;                                  /* no globs, but levels or minima: every function */
    struct annotate_minimum *minima;
    size_t minimum_count, minimum_capacity;
    const char **source_paths; /* folders with sources built elsewhere */
    size_t source_path_count, source_path_capacity;
    const char **prefix_maps; /* "OLD=NEW": recorded and local prefixes of source paths */
    size_t prefix_map_count, prefix_map_capacity;
    struct elf_search search; /* for binaries */
    struct pbin_keys keys;    /* only `caller` is used: time in the kernel counts for its caller */
    struct weigh_options weigh; /* how samples of full profiles are weighed */
    unsigned given;             /* as in struct attribution_options */
    bool add;                   /* the profiles are shards of one run; else each is a run */
    bool assembly;              /* instructions instead of source lines */
    bool intel;                 /* Intel syntax, x86 only */
    enum annotate_metric metric;
    double threshold; /* lines with at least this share of their function are hot [%] */
    bool has_context;
    uint64_t
        context; /* lines to show around each hot line, with the rest folded; else show whole functions */
    bool
        intervals; /* with the intervals of times, shares and energies that the number of samples gives */
    bool color;
    const struct table_style *style; /* of tables; NULL: the defaults */
};

/* Sums over runs, exact like those of an aggregate. */
struct annotate_sums {
    exact time, energy, samples;
};

/* The sums of a line or instruction of a function. Texts are numbers of the annotation's texts. */
struct annotate_row {
    uint32_t binary, function, inner, file; /* inner: the inlined function that contains the line */
    uint32_t module;                        /* index; NO_MODULE: unknown */
    uint64_t line;                          /* 0: unknown */
    uint64_t address; /* of the instruction in its module, see annotate_module; else 0 */
    struct annotate_sums sums;
};
#define NO_MODULE   UINT32_MAX
#define NO_CHECKSUM UINT32_MAX

/* A mapped file: addresses of rows are relative to it, so that runs at different addresses agree. */
struct annotate_module {
    uint32_t label, path, build_id; /* texts, as in struct pbin_map */
    bool has_offset; /* addresses are offsets in the file; else from the start of the mapping */
    uint64_t size; /* of the mapping [bytes], needed without offsets to find the segment; else 0 */
};

/* A function to be shown: consecutive rows. With LEVEL_BINARY it stands for its whole binary, and has its sums. */
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
    struct strings *keys, *module_keys; /* of rows and modules as bytes; number - 1 = index */
    struct strings *warned;             /* files for which a message has been printed */
    struct annotate_row *rows;
    size_t row_count, row_capacity;
    struct annotate_module *modules;
    size_t module_count, module_capacity;
    struct strings *checksum_keys; /* struct pbin_checksum as bytes, with numbers of TEXTS */
    struct annotate_checksum {
        uint32_t binary, md5;
        uint32_t next; /* the next of the same file; NO_CHECKSUM: none */
    } * checksums;
    size_t checksum_count, checksum_capacity;
    struct numbers checksum_files; /* files with checksums, by their texts; */
    struct checksum_list {
        uint32_t first, count;
    } * checksum_lists; /* by those numbers: the last checksum of each file */
    size_t checksum_list_capacity;
    struct pbin_meta meta; /* of the first profile */
    struct quantity quantity;
    bool any;
    uint64_t runs;
    struct annotate_sums total;   /* of all functions */
    struct annotate_sums sampled; /* the same without _idle and the like */
    uint64_t waiting;             /* thread samples without time, of all functions */
    /* sums of the absolute values added to time, energy, samples */
    unsigned __int128 most[3];
};

/* OPTIONS and REPORTER are borrowed until annotation_delete. */
struct annotation *annotation_new(const struct annotate_options *options,
                                  struct reporter *reporter);
void annotation_delete(struct annotation *annotation);

/* Adds the profile of READER, which must be at its beginning: a full profile, or one aggregated by keys that include
 * function, file and line (function and pc with options->assembly). NAME is the name of the file. Returns 0, or -1 with
 * ERR filled. */
int annotation_read(struct annotation *annotation, struct pbin_reader *reader, const char *name,
                    struct error *err);

/* The following functions are for the other files of analyze/annotate/. */

/* Text NUMBER, borrowed until annotation_delete. */
const char *annotation_text(const struct annotation *annotation, uint32_t number);

/* TO += PART. */
void annotate_sums_add(struct annotate_sums *to, const struct annotate_sums *part);

/* The MD5 sums of the source file of ROW that binaries record, in hexadecimal; the source must match one of these
 * *COUNT. Caller frees the array; its texts are borrowed until annotation_delete. */
const char **annotation_md5s(const struct annotation *annotation, const struct annotate_row *row,
                             size_t *count);

/* Returns whether this is the first call for the source PATH, so that each is reported once. */
bool annotation_may_warn(const struct annotation *annotation, const char *path);

#endif
