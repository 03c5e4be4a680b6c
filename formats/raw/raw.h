/* Raw profiles, the output of samplers, in all dialects, layouts and byte orders. Specified in raw.5.
 *
 *   profile = raw_open(stream, &options, err);
 *   while ((got = raw_next(profile, &samples, err)) > 0) ...
 *   raw_close(profile);
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_H
#define FORMATS_RAW_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/report.h"
#include "base/stream.h"
#include "formats/pbin/pbin.h"
#include "formats/raw/raw_extension.h"

enum {
    RAW_VMMAP_SIZE = 272,
    RAW_LABEL_SIZE = 256,
    RAW_MAX_THREADS = PBIN_MAX_THREADS,
    RAW_BATCH_SAMPLES = 256
};

/* An executable mapping of the profiled program. */
struct raw_vmmap {
    uint64_t address, size; /* [bytes] */
    char label[RAW_LABEL_SIZE + 1];
};

struct raw_thread_sample {
    uint32_t tid;
    uint64_t pc;
    uint64_t cpu_ns; /* cumulative CPU time [ns]; 0 if the dialect has none */
};

/* Some samples of a full profile; all borrowed until the next raw_next or raw_close. */
struct raw_samples {
    size_t count, thread_sample_count; /* COUNT is at most RAW_BATCH_SAMPLES */
    /* [count]: since the start of the clock [ns]; 0 if the dialect has no times */
    const uint64_t *time_ns;
    const double *value;     /* [count]: of the PMU; 0 if there is none */
    const uint32_t *threads; /* [count]: number of thread samples of the sample */
    const uint8_t
        *opaque;        /* [count * opaque_size]: non-numeric values, for RAW_OPAQUE; NULL: none */
    size_t opaque_size; /* at most PBIN_MAX_OPAQUE; larger values are left out */
    const struct raw_thread_sample *thread_samples; /* [thread_sample_count], sample by sample */
    /* [thread_sample_count]: RAW_RAN, ...; NULL: unknown, all count as running */
    const uint8_t *flags;
    /* [thread_sample_count]: valid if the flags have RAW_CALLER; NULL: none */
    const uint64_t *callers;
};

/* A line of an aggregated profile: the number of samples at PC, and the sum of their currents [A]. */
struct raw_histogram {
    uint64_t pc;
    bool unknown; /* the sum over all PCs outside every VMMap; pc is 0 */
    uint32_t map; /* the VMMap, UINT32_MAX if unknown; VMMaps of several processes may overlap */
    uint64_t samples;
    double current;
};

/* The layout of a dialect, and the header decoded with it. */
struct raw_layout {
    bool big;  /* byte order */
    bool late; /* VMMaps follow the samples */
};

struct raw_header {
    uint32_t magic;
    uint64_t wall_us, latency_us;
    uint64_t samples;
    uint32_t vmmaps;
    uint32_t value_size; /* of the PMU value [bytes] */
};

/* Type of the PMU value in `pperf`, whose header records only its size. */
enum raw_value {
    RAW_VALUE_AUTO,
    RAW_F64,
    RAW_F32,
    RAW_I8,
    RAW_I16,
    RAW_I32,
    RAW_I64,
    RAW_U8,
    RAW_U16,
    RAW_U32,
    RAW_U64,
    RAW_OPAQUE
};
/* Returns the enum raw_value called NAME ("f64", "i32", ...); -1 for any other name. */
int raw_value_parse(const char *name);

struct raw_options {
    const char *dialect; /* its name; NULL: detect */
    char order;          /* 'l' or 'b'; 0: detect */
    enum raw_value value;
    /* kind of the PMU values if the header is lost or contains custom; PMU_NONE: not given */
    enum pmu_kind kind;
    bool salvage; /* keep every complete sample of a truncated or unfinished file */
};

struct raw_dialect;

struct raw_profile {
    struct stream *stream; /* borrowed until raw_close */
    const struct raw_dialect *dialect;
    struct raw_layout layout;
    struct raw_header header;
    enum raw_value value;
    struct raw_vmmap *maps;
    size_t map_count;
    struct raw_extension ext;
    bool has_extension;
    bool aggregated; /* read it with raw_next_histogram instead of raw_next */
    bool has_times, has_cpu;
    bool has_flags; /* thread samples have flags that describe the sighting */
    bool cut;       /* salvaged: the end is missing */
    bool headless;  /* salvaged: the header, which has the kind of the PMU values, is missing */
    /* salvaged, of our sampler: samples with number TIMED and later have lost their times */
    bool lost_times;
    bool lost_maps;      /* the same: processes and mappings are lost, except the VMMaps */
    uint64_t lost_flags; /* the same: number of thread samples that have lost their flags */
    /* the same: energy after this time is lost, because the part of the program is unknown;
     * UINT64_MAX: none is lost */
    uint64_t energy_ns;
    enum pmu_kind asked_kind;  /* as in the options */
    uint64_t records_at;       /* offset of the first sample */
    uint64_t records_end;      /* offset after the last complete sample */
    uint64_t samples;          /* number of samples */
    uint64_t timed;            /* number of samples with a time in the extension */
    uint64_t threads;          /* number of thread samples in a full profile */
    uint64_t done;             /* samples delivered so far */
    struct raw_reader *reader; /* state of the dialect */
};

/* Detects the dialect by structure, or checks the requested one, and reads header, VMMaps and
 * extension. STREAM becomes seekable (a pipe is copied to a temporary file) and is borrowed until
 * raw_close. Returns NULL with ERR filled; its text distinguishes unrecognised, ambiguous and
 * malformed files. */
struct raw_profile *raw_open(struct stream *stream, const struct raw_options *options,
                             struct error *err);
void raw_close(struct raw_profile *profile);

/* Returns 1 with SAMPLES filled, at least one, 0 at the end, -1 on an error. */
int raw_next(struct raw_profile *profile, struct raw_samples *samples, struct error *err);

/* For full profiles: makes the next raw_next return the first samples again. */
void raw_rewind(struct raw_profile *profile);

/* For aggregated profiles: returns 1 with LINE filled, 0 at the end, -1 on an error. Skips lines without samples. */
int raw_next_histogram(struct raw_profile *profile, struct raw_histogram *line, struct error *err);

/* Returns whether times of samples count from the start of the run. Otherwise they count from the
 * first sample. */
bool raw_has_clock(const struct raw_profile *profile);

/* The kind of the PMU value. */
enum pmu_kind raw_pmu_kind(const struct raw_profile *profile);

/* The name of the detected dialect. */
const char *raw_profile_dialect(const struct raw_profile *profile);

/* The dialects by number, for help texts: name and one line of help; NULL after the last. */
const char *raw_dialect_name(size_t number);
const char *raw_dialect_help(size_t number);

/* For tests and for salvage without VMMaps: reads lines "HEXADDR HEXSIZE LABEL"; '#' begins a
 * comment, and \012 in a label stands for the byte with that octal number (raw_vmmap_text_write
 * escapes line ends and backslashes in this way). Returns 0 with *MAPS (caller frees) and *COUNT
 * set, or -1. */
int raw_vmmap_text_read(const char *path, struct raw_vmmap **maps, size_t *count,
                        struct error *err);
/* Writes the same. Returns 0 or -1 (error in OUT's struct error). */
int raw_vmmap_text_write(struct output *out, const struct raw_vmmap *maps, size_t count);

#endif
