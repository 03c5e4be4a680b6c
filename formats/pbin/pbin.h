/* pbin: symbolised samples, or sums of them, in one stream. Specified in pbin.5.
 *
 *   writer = pbin_writer_open(out, &meta)            reader = pbin_reader_open(in, ...)
 *   pbin_define_*() ... pbin_put_sample() ...        while (pbin_reader_next(reader, &batch) > 0)
 *   pbin_writer_close(writer)                        pbin_reader_close(reader)
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_H
#define FORMATS_PBIN_PBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/exact.h"
#include "base/intern.h"
#include "base/output.h"
#include "base/report.h"
#include "base/stream.h"
#include "formats/pbin/pmu_kind.h"

enum { PBIN_VERSION = 1, PBIN_SIGNATURE_SIZE = 8 };
extern const uint8_t pbin_signature[PBIN_SIGNATURE_SIZE];
#define PBIN_NO_MAP    UINT32_MAX
#define PBIN_NO_CALLER UINT32_MAX

/* Facts about the profile. Texts may be NULL (unknown). */
struct pbin_meta {
    char *name;    /* of the profile, as the user calls it */
    char *target;  /* the profiled program */
    char *command; /* its command line */
    char *host;    /* where it ran */
    char *started; /* RFC 3339, UTC */
    char *dialect; /* the format from which the profile was converted */
    char *tool;    /* the program that wrote it, with version */
    char *unit;    /* of the PMU value: A, V, W, or any other that the profile records */
    char *value;   /* names of the sources of the PMU value, joined by " + " */
    char *scope;   /* what they measure: package, dram, board, ...; joined by ", " */
    char *keys;    /* aggregated: names of the key columns, separated by ','; NULL: full profile */
    char *attribution; /* aggregated: the options by which samples were weighed, see pbin.5 */
    uint64_t pmu;      /* enum pmu_kind */
    double volts;      /* supply voltage [V] for a current; 0: unknown */
    /* power of the sources of the PMU value without the program [W]; 0: unknown */
    double baseline_w;
    double unattributed;    /* aggregated: energy in no row [J], over all runs */
    uint64_t cpus;          /* CPUs that the program could use; 0: unknown */
    uint64_t wall_ns;       /* wall time of the run [ns] */
    uint64_t latency_ns;    /* time spent in the sampler [ns] */
    uint64_t samples;       /* number of samples */
    uint64_t idle_samples;  /* aggregated: thread samples without CPU time, over all runs */
    uint64_t frequency;     /* requested [mHz]; 0: unknown */
    uint64_t cpu_time;      /* 1: samples have the CPU time of their threads */
    uint64_t times;         /* 1: samples have the time at which they were taken */
    uint64_t own_intervals; /* enum pbin_own */
    /* the number of samples of a thread that share its CPU time equally; 0, 1: each has its own */
    uint64_t divided;
};

/* The time that the program counter of a sample represents. */
enum pbin_own {
    PBIN_OWN_NONE,   /* the moment at which the sample was taken */
    PBIN_OWN_RANDOM, /* the interval before the sample; seen at a random moment of it */
    PBIN_OWN_ALIKE   /* the same; most times between two such moments equal the previous one */
};

/* Returns whether entries are complete counts of calls (dialect "funcmeter"). If so, they are added
 * when rows are joined. */
bool pbin_entries_are_calls(const struct pbin_meta *meta);

void pbin_meta_free(struct pbin_meta *meta);
/* TO becomes a copy of FROM, including the texts; the caller frees it with pbin_meta_free. */
void pbin_meta_copy(struct pbin_meta *to, const struct pbin_meta *from);

/* The fields of pbin_meta by name, for writing, reading and dumping. */
struct pbin_field {
    const char *name;
    char type;        /* 's' text, 'u' unsigned, 'f' double */
    size_t at;        /* offsetof */
    const char *unit; /* "" for none */
};
extern const struct pbin_field pbin_fields[];
extern const size_t pbin_field_count;

/* Definitions; a uint32_t that names a text is its number in the strings. */
struct pbin_map {
    uint64_t address, size, offset; /* [bytes]; offset in the file, UINT64_MAX: unknown */
    uint32_t label;                 /* as recorded */
    uint32_t path;                  /* file whose symbols were used, 0: none */
    uint32_t build_id;              /* lower-case hex, 0: none */
};

struct pbin_thread {
    uint32_t tid, pid; /* pid 0: unknown */
    uint32_t name;
    uint32_t program; /* path of the executable of its process, 0: unknown */
};

struct pbin_frame {
    uint32_t function;  /* linkage name */
    uint32_t demangled; /* readable name */
    uint32_t file;
    uint32_t line; /* 0: unknown */
};

/* Frame 0 is the innermost inlined function, the last one the concrete function. */
struct pbin_location {
    uint64_t pc;
    uint32_t binary; /* base name, or a label such as _foreign */
    uint32_t map;    /* or PBIN_NO_MAP */
    uint32_t first_frame, frame_count;
};

/* A source of power readings, see raw.5; texts are string numbers. */
struct pbin_source {
    uint32_t name, kind, unit, scope, help;
    double per_count; /* of an energy counter [J], else 1 */
    uint64_t period;  /* between its updates [ns], 0: unknown */
    uint8_t role;     /* 1: part of the PMU value, 0: additional */
};

/* Returns whether SOURCE counts energy. */
bool pbin_source_is_counter(const struct strings *strings, const struct pbin_source *source);

/* The checksum of a source file when the binary was compiled. A file can have several if units were compiled at
 * different times. */
struct pbin_checksum {
    uint32_t binary, file; /* as in locations */
    uint32_t md5;          /* of its contents, lower-case hexadecimal */
};

/* Returns whether TEXT consists of 32 lower-case hexadecimal digits. */
bool pbin_is_md5(const char *text);

struct pbin_reading {
    uint32_t source; /* its number */
    uint64_t time;   /* since the start of the run [ns] */
    /* energy: counts since its first reading; others: bits of a double in its unit */
    uint64_t value;
    uint64_t busy; /* CPU time used by all processes of the machine so far [ns], 0: unknown */
};

/* One row of an aggregated profile. Sums over runs are exact integers, so merging is associative and
 * commutative to the last bit. */
enum { PBIN_MAX_KEYS = 16 };

struct pbin_sums {
    exact samples;       /* thread samples [2^-64] */
    uint64_t entries;    /* UINT64_MAX: unknown */
    exact time;          /* [2^-32 ns] */
    exact energy;        /* [2^-80 J, or of the profile's quantity] */
    struct wide time_sq; /* sum over runs of time^2 */
    struct wide energy_sq;
    exact time_min, time_max, energy_min, energy_max; /* over the runs with the row */
    uint64_t runs;                                    /* number of runs with the row */
};

/* pbin_sums_of_run returns the sums of a single run, with squares, minima and maxima. pbin_sums_merge does TO += FROM
 * for disjoint runs, and returns false if a sum overflows; TO is then undefined. */
struct pbin_sums pbin_sums_of_run(exact samples, uint64_t entries, exact time, exact energy);
bool pbin_sums_merge(struct pbin_sums *to, const struct pbin_sums *from);

/* The keys that rows can have: the name, whether the key is a text or a number, and whether the
 * number 0 is a value (on some boards, threads have the numbers of cores) or means unknown. The
 * keys up to pc are in order from coarse to fine. NULL after the last key. */
struct pbin_key {
    const char *name;
    bool is_text;
    bool has_zero;
};
const struct pbin_key *pbin_key_get(size_t number);
/* The number of the key called NAME, or -1. */
int pbin_key_find(const char *name, size_t length);

/* A list of keys as numbers for pbin_key_get, each at most once. */
struct pbin_keys {
    int key[PBIN_MAX_KEYS];
    size_t count;
    bool offsets; /* program counters are offsets in their files; not changed by pbin_keys_parse */
    /* samples in the kernel count as in the user code that called it; also not changed by it */
    bool caller;
    /* the same: bits for the numbers of keys that only rows of the target binary have */
    uint64_t only_target;
};

/* Parses NAMES, joined by commas. Returns 0, or -1 with ERR filled for FILE (NULL: a command line): an unknown name, or
 * one that occurs twice. */
int pbin_keys_parse(struct pbin_keys *keys, const char *names, const char *file, struct error *err);

/* The same for NAMES that are valid. */
struct pbin_keys pbin_keys_of(const char *names);

/* Index of the key called NAME in KEYS; their count if it is missing. */
size_t pbin_keys_index(const struct pbin_keys *keys, const char *name);

struct pbin_row {
    uint64_t key[PBIN_MAX_KEYS]; /* string number or value, depending on the key column */
    struct pbin_sums sums;
};

/* A measure: a typed column of rows beside time and energy. Its values are exact integers, like all sums. */
enum pbin_measure_type {
    PBIN_INTEGER,  /* of units */
    PBIN_REAL,     /* [2^-MEASURE_SHIFT units] */
    PBIN_HISTOGRAM /* of values in units, in the buckets of base/log_buckets.h */
};

enum pbin_measure_join {
    PBIN_ADD,
    PBIN_ADD_SAME, /* over threads and runs, but not over functions, because one can contain the other */
    PBIN_MIN,
    PBIN_MAX
};

enum { PBIN_MAX_MEASURES = 64, PBIN_MEASURE_NAME = 32, MEASURE_SHIFT = 32 };

struct pbin_measure {
    uint32_t name, unit;
    enum pbin_measure_type type;
    enum pbin_measure_join join;
};

/* The value of a measure in a row, over all runs that have one. */
struct pbin_value {
    exact value;        /* the sum, minimum or maximum */
    uint64_t runs;      /* 0: no value */
    struct wide square; /* of sums: the sum of their squares over runs, */
    exact least, most;  /* and their extremes */
};

/* pbin_value_of_run returns the value of a single run. pbin_value_merge merges FROM, the value of
 * other runs, into TO; it returns false if a sum overflows. */
struct pbin_value pbin_value_of_run(exact value);
bool pbin_value_merge(struct pbin_value *to, const struct pbin_value *from,
                      enum pbin_measure_join join);

struct pbin_measured {
    uint32_t row, measure; /* their numbers in the profile */
    struct pbin_value value;
};

struct pbin_bucket {
    uint32_t bucket; /* base/log_buckets.h */
    uint64_t count;
};

struct pbin_histogram {
    uint32_t row, measure;
    size_t count;
    const struct pbin_bucket *buckets; /* [count], ascending, none empty */
};

/* A run that an aggregated profile includes. */
struct pbin_run {
    uint32_t name;
    uint64_t wall_ns, latency_ns, samples;
    exact time, energy;
};

/* An arc of the call graph; names are numbers in the strings. */
struct pbin_arc {
    uint32_t caller_binary, caller, callee_binary, callee;
    uint64_t count;
};

/* The data for least squares in an aggregated profile: columns, and the sums of their products over
 * sensor windows. */
enum pbin_fit_kind { PBIN_FIT_TIME, PBIN_FIT_ENERGY, PBIN_FIT_REST, PBIN_FIT_ROW };
enum { PBIN_FIT_GROUPS = 21 /* the last: uncorrected minus corrected sums */ };

struct pbin_fit_column {
    enum pbin_fit_kind kind;
    uint64_t key[PBIN_MAX_KEYS]; /* as in a row */
    exact cpu;                   /* [2^-32 ns] */
    /* sum of the squares of intervals between two rows [ns^2]; in the first column, the number of
     * complete windows; in the second, the sum for waiting */
    exact switched;
};

struct pbin_fit_sum {
    uint32_t group, a, b; /* a >= b: numbers of columns */
    exact value;          /* [2^-32 ns], or [2^-80 J] */
};

/* ---- writing ---- */

struct pbin_writer;

/* Writes the signature and META. OUT is borrowed until pbin_writer_close; META can be freed after the call. */
struct pbin_writer *pbin_writer_open(struct output *out, const struct pbin_meta *meta);

/* Each adds a definition and returns its number (0, 1, 2, ...). */
uint32_t pbin_define_string(struct pbin_writer *writer, const char *text);
uint32_t pbin_define_map(struct pbin_writer *writer, const struct pbin_map *map);
uint32_t pbin_define_thread(struct pbin_writer *writer, const struct pbin_thread *thread);
uint32_t pbin_define_location(struct pbin_writer *writer, const struct pbin_location *location,
                              const struct pbin_frame *frames);
/* LOCATION, in the kernel, was called from location CALLER; both are defined, and LOCATION has no caller yet. */
void pbin_define_caller(struct pbin_writer *writer, uint32_t location, uint32_t caller);
uint32_t pbin_define_source(struct pbin_writer *writer, const struct pbin_source *source);
/* FILE of BINARY had MD5 when it was compiled. Repeated definitions and the text "" are ignored. */
void pbin_define_checksum(struct pbin_writer *writer, uint32_t binary, uint32_t file, uint32_t md5);
uint32_t pbin_define_measure(struct pbin_writer *writer, const struct pbin_measure *measure);

/* Declares that samples have a value of SOURCE in addition to their PMU value. Call it before the first sample. */
void pbin_declare_value(struct pbin_writer *writer, uint32_t source);

/* Declares that thread samples have a second CPU time, EQUAL_NS of a room. Call it before the first
 * sample. */
void pbin_declare_equal(struct pbin_writer *writer);

/* Appends a reading of a defined source. The readings of a source must be in order of time, and
 * each must precede all samples that are later. */
void pbin_put_reading(struct pbin_writer *writer, const struct pbin_reading *reading);

/* Sets the CPU time that all processes of the machine used in the intervals of the next SAMPLES samples of the batch.
 * Either all samples of a batch have it or none. Call it between pbin_make_room and pbin_fill_room of the samples. */
void pbin_put_busy(struct pbin_writer *writer, uint32_t samples, uint64_t cpu_ns);

/* Appends a sample: INTERVAL_NS since the previous one, the PMU value, and COUNT (at most PBIN_MAX_THREADS) threads.
 * Returns 0, or -1 if writing fails (error in the output's struct error). */
enum { PBIN_MAX_THREADS = 1 << 19 };
struct pbin_thread_sample {
    uint32_t thread, location;
    uint64_t cpu_ns; /* CPU time used since the thread's previous sample */
};
/* Sets the non-numeric values of the next COUNT samples of the batch: SIZE bytes each, at most PBIN_MAX_OPAQUE, and
 * the same size in all batches. Either all samples of a batch have one or none. Call it between pbin_make_room and
 * pbin_fill_room of the samples. */
enum { PBIN_MAX_OPAQUE = 1024 };
void pbin_put_opaque(struct pbin_writer *writer, const uint8_t *bytes, size_t size, size_t count);

/* Returns whether appending another sample of COUNT threads would write the batch first. The
 * locations to which the samples of the batch refer must be defined before it is written. */
bool pbin_batch_is_full(const struct pbin_writer *writer, size_t count);
int pbin_put_sample(struct pbin_writer *writer, uint64_t interval_ns, double value,
                    const struct pbin_thread_sample *threads, size_t count);

/* For callers that fill in the columns themselves: room for SAMPLES samples with THREAD_SAMPLES
 * thread samples in total, enough for at least one sample of COUNT threads. Borrowed until the next
 * call on the writer. Returns 0, or -1 if writing fails. */
struct pbin_room {
    size_t samples, thread_samples;
    uint64_t *interval_ns, *value_bits, *threads; /* [samples] */
    uint64_t *const *more_bits;                   /* [pbin_declare_value calls][samples] */
    size_t at;                            /* index in MORE_BITS of the first sample of the room */
    uint64_t *thread, *location, *cpu_ns; /* [thread_samples] */
    uint64_t *equal_ns; /* [thread_samples] see struct pbin_samples; NULL: not declared */
};
int pbin_make_room(struct pbin_writer *writer, size_t count, struct pbin_room *room);
/* Appends the first SAMPLES samples and THREAD_SAMPLES thread samples of the room. */
void pbin_fill_room(struct pbin_writer *writer, size_t samples, size_t thread_samples);

/* Aggregated profiles: runs and rows, in sorted order. */
void pbin_put_run(struct pbin_writer *writer, const struct pbin_run *run);
void pbin_put_row(struct pbin_writer *writer, const struct pbin_row *row, size_t key_count);
void pbin_put_arc(struct pbin_writer *writer, const struct pbin_arc *arc);
/* Appends a value after its row. The number of a row is the number of pbin_put_row calls before it. */
void pbin_put_measured(struct pbin_writer *writer, const struct pbin_measured *measured);
void pbin_put_histogram(struct pbin_writer *writer, const struct pbin_histogram *histogram);
void pbin_put_fit_column(struct pbin_writer *writer, const struct pbin_fit_column *column,
                         size_t key_count);
void pbin_put_fit_sum(struct pbin_writer *writer, const struct pbin_fit_sum *sum);

/* If RESULT, the caller's result so far (0 or -1), is 0, writes all pending data and the trailer.
 * Readers recognise incomplete output by the missing trailer. Frees WRITER. Returns RESULT, or -1
 * if writing fails. */
int pbin_writer_close(struct pbin_writer *writer, int result);

/* ---- reading ---- */

/* A batch of samples in columns; all borrowed until the next call on the reader. */
struct pbin_samples {
    size_t count, thread_sample_count;
    const uint64_t *interval_ns; /* [count] */
    const double *value;         /* [count] */
    const uint64_t *threads;     /* [count]: number of thread samples of the sample */
    const uint64_t *thread;      /* [thread_sample_count]: all of the batch, sample by sample */
    const uint64_t *location;    /* [thread_sample_count] */
    const uint64_t *cpu_ns;      /* [thread_sample_count] */
    /* [thread_sample_count]: CPU time if successive sightings of a thread share theirs equally;
     * NULL: the same as CPU_NS; only with PBIN_WANT_EQUAL */
    const uint64_t *equal_ns;
    /* [count]: CPU time of the machine in the interval; NULL: unknown; only with PBIN_WANT_BUSY */
    const double *busy_ns;
    /* [count * opaque_size]: non-numeric values; NULL: none; only with PBIN_WANT_OPAQUE */
    const uint8_t *opaque;
    size_t opaque_size;
    uint64_t cpu_least, cpu_most; /* bounds of the CPU times */
    uint64_t threads_each;        /* of every sample; 0: their number varies, or is 0 */
    bool same_threads;            /* every sample has the same threads, in ascending order */
    bool timeless;                /* all of INTERVAL_NS is 0; false: unknown */
};

/* The kinds of items that pbin_reader_next delivers. */
enum pbin_item {
    PBIN_END = 0,
    PBIN_SAMPLES,
    PBIN_ROW,
    PBIN_RUN,
    PBIN_ARC,
    PBIN_READING,
    PBIN_COLUMN,
    PBIN_SUM,
    PBIN_MEASURED,
    PBIN_BUCKETS
};

struct pbin_batch {
    enum pbin_item item;
    struct pbin_samples samples;
    struct pbin_row row;
    struct pbin_run run;
    struct pbin_arc arc;
    struct pbin_reading reading;       /* only with PBIN_WANT_READINGS */
    struct pbin_fit_column fit_column; /* only with PBIN_WANT_FIT */
    struct pbin_fit_sum fit_sum;       /* the same; refers to columns delivered earlier */
    struct pbin_measured measured;   /* only with PBIN_WANT_MEASURES; of a row delivered earlier */
    struct pbin_histogram histogram; /* the same; its buckets are borrowed until pbin_reader_next */
};

struct pbin_reader;

struct pbin_choice {
    bool salvage; /* a truncated stream ends without an error, and pbin_reader_cut returns true */
    const char *value; /* source whose values replace the PMU values; NULL: do not replace them */
};

/* Reads the signature and META. If CHOICE has a value, also reads the definitions before the first
 * sample, and makes META describe that value. STREAM and the text in CHOICE are borrowed until
 * pbin_reader_close. Returns NULL with ERR filled. */
struct pbin_reader *pbin_reader_open(struct stream *stream, struct pbin_choice choice,
                                     struct error *err);
void pbin_reader_close(struct pbin_reader *reader);

/* Restricts the reader to sample blocks at stream offsets in [BEGIN, END): it skips earlier ones unread and ends after
 * the last. Reading all parts of a profile checks as much as reading the whole. Only for a full profile, before the
 * first pbin_reader_next; the stream must be seekable. */
void pbin_reader_part(struct pbin_reader *reader, uint64_t begin, uint64_t end);

/* The data that pbin_reader_next skips by default. */
enum pbin_wanted {
    PBIN_WANT_READINGS = 1,
    PBIN_WANT_BUSY = 2,      /* the CPU time of the machine, with samples */
    PBIN_WANT_OPAQUE = 4,    /* non-numeric values, with samples */
    PBIN_WANT_FIT = 8,       /* the columns and sums of least squares */
    PBIN_WANT_MEASURES = 16, /* the values of measures */
    PBIN_WANT_EQUAL = 32,    /* CPU times if sightings shared them equally, with samples */
};

/* Makes pbin_reader_next also deliver WHAT. */
void pbin_reader_want(struct pbin_reader *reader, enum pbin_wanted what);

/* The CHOICE of pbin_reader_open. */
struct pbin_choice pbin_reader_choice(const struct pbin_reader *reader);

/* The stream of the reader; borrowed. */
struct stream *pbin_reader_stream(const struct pbin_reader *reader);

/* Reads the trailer at the end of STREAM, which must be seekable. Returns false if there is none.
 * Use it only to choose how to read the profile, because nothing else is checked. */
struct pbin_counts {
    uint64_t samples, thread_samples;
    uint32_t strings, maps, threads, locations, runs, rows, arcs;
};
bool pbin_peek_trailer(struct stream *stream, struct pbin_counts *counts);

/* Returns 1 with BATCH filled, 0 at the end (after a correct trailer), or -1 with ERR filled: the
 * profile is damaged, or "truncated after N samples". */
int pbin_reader_next(struct pbin_reader *reader, struct pbin_batch *batch, struct error *err);

/* Returns whether a truncated stream was salvaged. Valid only after pbin_reader_next has returned
 * 0. */
bool pbin_reader_cut(const struct pbin_reader *reader);

/* If a truncated stream was salvaged, warns where and why the rest of NAME was lost. */
void pbin_reader_warn_cut(const struct pbin_reader *reader, const char *name,
                          struct reporter *reporter);

/* The metadata; borrowed until pbin_reader_next or pbin_reader_close, like the definitions so far. */
const struct pbin_meta *pbin_reader_meta(const struct pbin_reader *reader);
/* The key columns of an aggregated profile; none for a full profile. */
const struct pbin_keys *pbin_reader_keys(const struct pbin_reader *reader);
struct pbin_definitions {
    const struct strings *strings;
    const struct pbin_map *maps;
    const struct pbin_thread *threads;
    const struct pbin_location *locations;
    const struct pbin_frame *frames;
    const uint32_t *callers; /* [location_count], PBIN_NO_CALLER: none; NULL: no location has one */
    const struct pbin_source *sources;
    const struct pbin_measure *measures;
    const struct pbin_checksum *checksums; /* may contain duplicates */
    size_t map_count, thread_count, location_count, frame_count, source_count, measure_count,
        checksum_count;
};
const struct pbin_definitions *pbin_reader_definitions(const struct pbin_reader *reader);

/* The number of samples so far, including those that a part skipped. */
uint64_t pbin_reader_samples(const struct pbin_reader *reader);

#endif
