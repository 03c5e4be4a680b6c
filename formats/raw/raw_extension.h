/* The raw extension: what our sampler records beyond the documented dialect, in blocks after its last byte.
 *
 *   documented file ... | signature (8 bytes) | info | maps | thrd | vdso? | time ... | done
 *
 * Readers of the documented format never look there. The sampler's unfinished file (the spool) has the
 * same blocks after a header of zeros, with the samples in `rows` blocks, so that a killed sampler loses at
 * most the last block:
 *
 *   32 zero bytes | signature | info | maps rows thrd rows maps rows ...
 *
 * Specified in raw.5.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_EXTENSION_H
#define FORMATS_RAW_RAW_EXTENSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/stream.h"

enum { RAW_SIGNATURE_SIZE = 8, RAW_TIMES_PER_BLOCK = 65536 };
extern const uint8_t raw_signature[RAW_SIGNATURE_SIZE];

/* An executable mapping with what a VMMap of the documented formats omits. */
struct raw_map {
    uint64_t address, size; /* [bytes] as the VMMap of the same index */
    uint64_t offset;        /* in the file [bytes] */
    uint32_t pid;           /* process that has the mapping */
    char *build_id;         /* lower-case hex; "" if the file has none */
    char *path;             /* absolute */
};

struct raw_thread {
    uint32_t tid, pid;
    char *name; /* comm */
};

/* Facts about the run, by name. The sampler writes: sampler (name and version), command, host, started
 * (RFC 3339 UTC), frequency (requested, Hz), pmu, pmu_kind, unit, cpus, cwd. */
struct raw_fact {
    char *name, *value;
};

/* Everything but times and rows, as read by raw_extension_read. */
struct raw_extension {
    struct raw_fact *facts;
    struct raw_map *maps; /* in file order: the first ones are the VMMaps of the header */
    struct raw_thread *threads;
    size_t fact_count, map_count, thread_count;
    size_t fact_capacity, map_capacity, thread_capacity;
    uint8_t *vdso; /* image of the vdso; NULL if not recorded */
    uint64_t vdso_address, vdso_size;
    uint64_t time_at; /* offset of the first `time` block in the stream; 0: none */
    uint64_t rows_at; /* offset of the first `rows` block; 0: none (only a spool has them) */
    uint64_t samples; /* from `done`, or counted in `rows` */
    uint64_t end;     /* offset after the last complete block */
    bool done;        /* ends with `done` */
};

/* Writers: each appends a complete block to BUFFER, for the caller to output. */
void raw_put_facts(struct buffer *buffer, const struct raw_fact *facts, size_t count);
void raw_put_maps(struct buffer *buffer, const struct raw_map *maps, size_t count);
void raw_put_threads(struct buffer *buffer, const struct raw_thread *threads, size_t count);
/* ADDRESS: where it was mapped in the target. SIZE at most 1 MiB. */
void raw_put_vdso(struct buffer *buffer, uint64_t address, const uint8_t *image, size_t size);
/* Times of COUNT samples (at most RAW_TIMES_PER_BLOCK) from sample number FIRST [ns since the start of the
 * run]. */
void raw_put_times(struct buffer *buffer, uint64_t first, const uint64_t *times, size_t count);
/* Spool only: COUNT samples in SIZE bytes at ROWS (at most 8 MiB), each u64 time [ns] followed by its record in
 * dialect `sampler`: f64 value, u32 threads, threads * {u32 tid, u64 pc, u64 cpu [ns]}. */
void raw_put_rows(struct buffer *buffer, const uint8_t *rows, size_t size, size_t count);
void raw_put_done(struct buffer *buffer, uint64_t samples);

/* Reads the extension whose signature is at the position of STREAM, which must be seekable; the data must end
 * with it. Returns 0 with EXT filled, to be freed with raw_extension_free, or -1 when damaged. With SALVAGE, a
 * truncated or damaged tail is dropped without an error, and EXT->done is false. */
int raw_extension_read(struct stream *stream, struct raw_extension *ext, bool salvage,
                       struct error *err);
void raw_extension_free(struct raw_extension *ext);

/* Frees the mappings, to be replaced by others. */
void raw_extension_forget_maps(struct raw_extension *ext);

/* The value of fact NAME, borrowed from EXT, or NULL. */
const char *raw_extension_fact(const struct raw_extension *ext, const char *name);

#endif
