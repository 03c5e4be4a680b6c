/* The raw extension: data that our sampler records in addition to the documented dialect, in blocks
 * after its end.
 *
 *   documented file ... | signature (8 bytes) | info | imgs mapx task srcs time ... | read ... | seen jits ... | done
 *
 * Readers of the documented format ignore it. The most important blocks come first, so that a
 * truncated file is still useful. Earlier samplers wrote times last. The sampler's unfinished file
 * (the spool) has the same blocks after a header of zeros, with the samples in `rows` blocks, so
 * that a killed sampler loses at most the last block:
 *
 *   32 zero bytes | signature | info | imgs mapx rows seen task rows seen read mapx rows seen ...
 *
 * Specified in raw.5.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_EXTENSION_H
#define FORMATS_RAW_RAW_EXTENSION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/intern.h"
#include "base/stream.h"
#include "formats/pbin/block.h"

enum {
    RAW_SIGNATURE_SIZE = 8,
    RAW_TIMES_PER_BLOCK = 65536,
    MAX_RAW_VDSO = 1 << 20 /* [bytes] */
};
extern const uint8_t raw_signature[RAW_SIGNATURE_SIZE];

/* An executable mapping with the data that VMMaps of the documented formats lack. */
struct raw_map {
    uint64_t address, size; /* [bytes] as in the VMMap with the same index */
    uint64_t offset;        /* in the file [bytes] */
    uint32_t pid;           /* process that has the mapping */
    char *build_id;         /* lower-case hex; "" if the file has none */
    char *path;             /* absolute */
};

struct raw_thread {
    uint32_t tid, pid;
    char *name; /* comm */
};

#define RAW_NO_IMAGE UINT32_MAX

enum raw_how { RAW_FIRST, RAW_FORK, RAW_EXEC, RAW_HOWS };

/* An address space, from its start until the next image of the same pid starts. Images are numbered in the order of
 * the file: a parent before its children, the images of a pid by start. */
struct raw_image {
    uint32_t pid, ppid;
    uint64_t start;  /* since the start of the run [ns] */
    uint32_t parent; /* image from which it inherited mappings; RAW_NO_IMAGE: none */
    uint8_t how;     /* enum raw_how */
    char *path;      /* of the executable, absolute; "" if unknown */
    char *comm;      /* name of the process */
};

enum raw_mapping {
    RAW_MAP_FILE,
    RAW_MAP_ANONYMOUS,
    RAW_MAP_HEAP,
    RAW_MAP_STACK,
    RAW_MAP_VDSO,
    RAW_MAP_VSYSCALL,
    RAW_MAP_JIT, /* code whose names are in the JIT maps */
    RAW_MAPPINGS
};

/* Returns the kind of a mapping that the kernel shows with PATH. A file that exists only in memory
 * (memfd, System V shared memory, a shared mapping of /dev/zero) is anonymous: it cannot be opened by
 * this path. */
enum raw_mapping raw_mapping_of_path(const char *path);

/* An executable mapping of an image. It replaces the overlapping parts of earlier mappings. */
struct raw_mapx {
    uint32_t image;
    uint64_t from;                  /* when it begins to exist [ns since the start of the run] */
    uint64_t address, size, offset; /* [bytes]; OFFSET in the file */
    uint64_t inode;                 /* 0: unknown */
    uint8_t kind;                   /* enum raw_mapping */
    /* lower-case hex; if the file has none: after reading, its content in struct raw_code, or "" */
    char *build_id;
    char *path; /* absolute, else the kernel's name: "[heap]", "//anon", "/memfd:x (deleted)" */
};

/* The content of a file without build-id. */
struct raw_code {
    uint64_t inode; /* as in its mappings */
    char *path;
    char *content; /* as in elf_content.h */
};

/* A thread, starting at START [ns since the start of the run]. A new record follows if its name
 * changes or its tid is reused. */
struct raw_task {
    uint32_t tid, pid;
    uint64_t start;
    char *name; /* comm */
};

enum raw_jit { RAW_JIT_TEXT /* of /tmp/perf-PID.map */, RAW_JIT_DUMP, RAW_JITS };

/* The PC for unknown code in the kernel: the first address of the kernel's half, which contains no
 * code. */
#define RAW_KERNEL_PC UINT64_C(0xffff800000000000)

/* Flags of a thread sample. */
enum {
    RAW_RAN = 1,   /* the thread was running; otherwise it waited at its PC */
    RAW_TOTAL = 2, /* not a sighting: only the CPU time of the thread */
    /* its PC is in the kernel; the PC of the calling user code is recorded too. With RAW_TOTAL: CPU
     * time of switches instead of this PC [ns] */
    RAW_CALLER = 4,
    /* 8 is reserved for a stack */
    RAW_SAME_CPU = 16, /* the sampler ran on its CPU: a page fault appears as user code */
    RAW_FAULT = 32,    /* with RAW_CALLER: a page fault, not a system call */
    /* without RAW_RAN: it had been preempted in user code at its PC, and waited for a CPU */
    RAW_PREEMPTED = 64,
    RAW_ASLEEP = 128, /* without RAW_RAN: it waited in the kernel, and not for a CPU */
    RAW_ASSUMED = 128 /* with RAW_RAN, not in files: the flags are lost, and it counts as running */
};

/* A source of power readings. */
struct raw_source {
    char *name;       /* unique: "rapl:package-0" */
    char *kind;       /* "energy", "power", "current", "voltage" or "custom" */
    char *unit;       /* "J", "W", "A", "V" or the custom one */
    char *scope;      /* "core", "package", "dram", "psys", "gpu", "board" or "other" */
    double per_count; /* of an energy counter [J], else 1 */
    uint64_t period;  /* between its updates [ns], 0: unknown */
    uint8_t role;     /* 1: part of the documented value, 0: additional */
    char *help;       /* description in one line */
};

struct raw_reading {
    uint32_t source; /* number, in the order of the file */
    uint64_t time;   /* at which it was read [ns since the start of the run] */
    /* energy: counts since the source's first reading, corrected for wrap-around; others: bits of
     * an f64 in its unit */
    uint64_t value;
    uint64_t busy; /* CPU time used by all processes of the machine so far [ns], 0: unknown */
};

/* CPU time of a process that has ended [ns]. */
struct raw_cpu {
    uint32_t pid;
    uint64_t user, system;
};

/* The CPU time that all processes of the program had used by TIME, when a power source had a new
 * value. Samples up to TIME were taken before it. */
struct raw_mark {
    uint64_t time; /* since the start of the run [ns] */
    uint64_t cpu;  /* [ns] */
};

/* CPU time of a process in user code and in the kernel [ns], as counted by ticks of the kernel: the
 * number of ticks times the time between two ticks. Counted since the previous record of the
 * process, or else since it began or was attached to. */
struct raw_ticks {
    uint32_t pid;
    uint64_t time; /* since the start of the run [ns] */
    uint64_t user, system;
    uint64_t stops; /* part of SYSTEM: the estimated cost of being stopped by the sampler */
};

/* A fact about the run as stored; raw_facts lists the known names: sampler (name and version),
 * started (RFC 3339 UTC), ... */
struct raw_fact {
    char *name, *value;
};

/* The known facts: NULL and 0 if missing. Borrowed from the extension. */
struct raw_facts {
    const char *sampler, *command, *host, *started, *cwd, *pmu, *pmu_kind, *unit;
    const char *engine;   /* "perf" or "ptrace" */
    const char *interval; /* "random" or "fixed" */
    const char *target;   /* path of the program that used the most CPU time */
    double frequency;     /* requested [Hz] */
    double reached;       /* [Hz] */
    double baseline_w;    /* idle power [W] */
    uint64_t cpus;
    uint64_t cpu_ns; /* CPU time of the program and all processes that it waited for, 0: unknown */
    uint64_t system_ns; /* of it, in the kernel, by its ticks; 0: not recorded */
    double user_part;   /* of the CPU time without switches, by the number of samples; 0: unknown */
    uint64_t page_faults; /* number of page faults of the same processes */
    uint64_t tick_ns;     /* between two ticks of the kernel */
    /* Aggregated: sums over samples in the kernel, which are among those outside every VMMap, and
     * the summed current while no thread ran [A]. */
    uint64_t kernel_samples;
    double kernel_current, idle_current;
};

/* The rate [Hz] up to which the perf engine draws each interval between samples separately. Above
 * it, intervals come in batches of equal ones. */
enum { RAW_PERF_EACH = 250 };

/* Returns whether the profile was recorded by ENGINE, "perf" or "ptrace". */
static inline bool raw_facts_engine(const struct raw_facts *facts, const char *engine)
{
    return facts->engine != NULL && strcmp(facts->engine, engine) == 0;
}

/* A JIT map, assembled from its pieces. */
struct raw_jit_map {
    uint32_t image;
    uint8_t kind; /* enum raw_jit */
    struct buffer bytes;
};

/* Everything that raw_extension_read reads, that is, all but times, rows, flags and readings. Texts
 * are borrowed from TEXTS. */
struct raw_extension {
    struct raw_facts facts;
    struct raw_map *maps; /* in file order: the first ones are the VMMaps of the header */
    struct raw_thread *threads;
    struct raw_image *images;
    struct raw_mapx *mapx;
    struct raw_task *tasks;
    struct raw_code *codes;
    struct raw_source *sources;
    struct raw_jit_map *jits;
    struct raw_cpu *cpus;
    /* for each record with RAW_TOTAL, in their order: the CPU time that the sightings of its thread
     * represent, by their intervals [ns] */
    uint64_t *nominal_ns;
    struct raw_ticks *ticks;
    struct raw_mark *marks;
    size_t map_count, thread_count, image_count, mapx_count, task_count, code_count, source_count,
        jit_count, cpu_count, tick_count, mark_count, nominal_count;
    size_t map_capacity, thread_capacity, image_capacity, mapx_capacity, task_capacity,
        code_capacity, source_capacity, jit_capacity, cpu_capacity, tick_capacity, mark_capacity,
        nominal_capacity;
    struct strings *texts;
    struct numbers jit_numbers; /* image << 8 | kind */
    uint8_t *vdso;              /* image of the vdso, NULL if not recorded */
    uint64_t vdso_address, vdso_size;
    uint64_t time_at;    /* offset of the first `time` block in the stream, 0: none */
    uint64_t rows_at;    /* offset of the first `rows` block, 0: none (only a spool has them) */
    uint64_t seen_at;    /* offset of the first `seen` block, 0: none */
    uint64_t read_at;    /* offset of the first `read` block, 0: none */
    uint64_t samples;    /* from `done`, or counted in rows */
    uint64_t time_count; /* number of samples with times in `time` blocks */
    uint64_t last_ns;    /* the last of these times */
    uint64_t seen_count; /* number of thread samples with flags */
    uint64_t unseen;     /* number of samples in the last rows, if no flags follow them */
    uint64_t end;        /* offset after the last complete block */
    bool done;           /* the file ends with a `done` block */
};

/* Writers: each appends a complete block to BUFFER, for the caller to output. */
void raw_put_facts(struct buffer *buffer, const struct raw_fact *facts, size_t count);
/* ADDRESS: where it was mapped in the target. SIZE at most 1 MiB. */
void raw_put_vdso(struct buffer *buffer, uint64_t address, const uint8_t *image, size_t size);
/* Times of COUNT samples (at most RAW_TIMES_PER_BLOCK) from sample number FIRST [ns since the start of the
 * run]. */
void raw_put_times(struct buffer *buffer, uint64_t first, const uint64_t *times, size_t count);
/* Spool only: COUNT samples in SIZE bytes at ROWS (at most 8 MiB). Each is a u64 time [ns], then
 * its record in dialect `sampler`: f64 value, u32 threads, threads * {u32 tid, u64 pc, u64 cpu
 * [ns]}. */
void raw_put_rows(struct buffer *buffer, const uint8_t *rows, size_t size, size_t count);
void raw_put_done(struct buffer *buffer, uint64_t samples);

/* Divide long lists: a block has at most BLOCK_MAX_PAYLOAD bytes. */
void raw_put_images(struct buffer *buffer, const struct raw_image *images, size_t count);
void raw_put_mapx(struct buffer *buffer, const struct raw_mapx *maps, size_t count);
void raw_put_codes(struct buffer *buffer, const struct raw_code *codes, size_t count);
void raw_put_tasks(struct buffer *buffer, const struct raw_task *tasks, size_t count);
/* Appends the next SIZE bytes (at most 8 MiB) of the JIT map of IMAGE and KIND. */
void raw_put_jit(struct buffer *buffer, uint32_t image, enum raw_jit kind, const uint8_t *bytes,
                 size_t size);
/* Flags of COUNT thread samples (at most 2^20), beginning with number FIRST of the
 * file, and the PCs of callers, one for each flag RAW_CALLER, in the same order. In a spool, they
 * must follow the rows of the same samples immediately. */
void raw_put_seen(struct buffer *buffer, uint64_t first, const uint8_t *flags, size_t count,
                  const uint64_t *callers);
void raw_put_sources(struct buffer *buffer, const struct raw_source *sources, size_t count);
void raw_put_readings(struct buffer *buffer, const struct raw_reading *readings, size_t count);
void raw_put_cpus(struct buffer *buffer, const struct raw_cpu *cpus, size_t count);
void raw_put_ticks(struct buffer *buffer, const struct raw_ticks *ticks, size_t count);
void raw_put_marks(struct buffer *buffer, const struct raw_mark *marks, size_t count);
void raw_put_nominal(struct buffer *buffer, const uint64_t *ns, size_t count);

/* Reads the extension whose signature is at the position of STREAM, which must be seekable; the
 * data must end with it. Returns 0 with EXT filled, to be freed with raw_extension_free, or -1 if
 * it is damaged. With SALVAGE, a truncated or damaged tail is dropped without an error, and
 * EXT->done is false; if the file ends inside a block of times or flags, the complete ones are
 * kept. */
int raw_extension_read(struct stream *stream, struct raw_extension *ext, bool salvage,
                       struct error *err);
void raw_extension_free(struct raw_extension *ext);

/* The number of thread samples, out of COUNT, whose flags and callers are in the SIZE bytes at
 * DATA; less than COUNT in a truncated block. */
size_t raw_seen_whole(const uint8_t *data, size_t size, size_t count);

/* Like block_next, but also returns the available part of a block in which a salvaged file ends.
 * For blocks that raw_extension_read has checked. */
int raw_extension_next(struct stream *stream, struct block *block, struct error *err);

/* Drops processes and their mappings, threads and JIT maps, which are useless without times of samples. */
void raw_extension_forget_images(struct raw_extension *ext);

/* Frees the mappings, so that the caller can replace them. */
void raw_extension_forget_maps(struct raw_extension *ext);

/* Reads the readings of a profile one by one. raw_reading_walk_begin begins it;
 * raw_reading_walk_end releases it. */
struct raw_reading_walk {
    struct stream *stream;
    uint64_t at; /* offset at which the search for the next block begins, 0: no block */
    struct buffer bytes;
    struct cursor in;
    uint32_t left; /* unread readings in the open block */
};

/* STREAM, from which EXT was read, is borrowed until raw_reading_walk_end; its position does not change. */
struct raw_reading_walk raw_reading_walk_begin(struct stream *stream,
                                               const struct raw_extension *ext);
void raw_reading_walk_end(struct raw_reading_walk *walk);
/* Returns 1 with READING filled; 0 at the end, or where a salvaged profile is damaged; -1 if
 * reading fails. */
int raw_reading_next(struct raw_reading_walk *walk, struct raw_reading *reading, struct error *err);

#endif
