/* Internals of formats/raw: the description of a dialect. To add one, write a file and add a line to raw_detect.c.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_DIALECT_H
#define FORMATS_RAW_RAW_DIALECT_H

#include "base/bytes.h"
#include "base/memory.h"
#include "formats/raw/raw.h"

enum raw_verdict {
    RAW_NO,        /* not this dialect in this layout */
    RAW_MALFORMED, /* truncated: everything fits up to the end of the data */
    RAW_FITS       /* the records end exactly where they must */
};

/* The outcome of trying one reading. */
struct raw_probe {
    uint64_t records_at, records_end; /* offsets of the first sample and after the last */
    uint64_t samples;                 /* number of complete samples found */
    uint64_t threads; /* thread samples in these; if few, a salvaged file may match by chance */
    uint64_t extension_at; /* offset of the signature; 0: none */
    uint64_t maps_at;
    bool odd;           /* labels look implausible: correct only if no other reading fits */
    struct error error; /* for RAW_MALFORMED: describes what is missing and where */
};

/* Samples as a run of records, see raw_records.c. */
struct raw_record {
    uint8_t time_size;   /* 8 or 0 */
    uint8_t value_size;  /* 0: from the header */
    uint8_t thread_size; /* 12 or 20 */
};

struct raw_dialect {
    const char *name, *help;
    uint32_t header_size; /* 32 or 36 */
    uint32_t magic_most;  /* largest valid magic */
    bool aggregated;
    struct raw_record record; /* of full profiles */

    /* Checks whether the file has exactly this dialect with this byte order and layout. HEADER has
     * been decoded. With SALVAGE, the complete part of a truncated file is checked. Returns 0 with
     * VERDICT and PROBE filled, or -1 on a read error. */
    int (*probe)(const struct raw_dialect *dialect, struct stream *stream,
                 const struct raw_header *header, struct raw_layout layout, bool salvage,
                 enum raw_verdict *verdict, struct raw_probe *probe, struct error *err);
    /* Like raw_next and raw_next_histogram; NULL where not applicable. */
    int (*next)(struct raw_profile *profile, struct raw_samples *samples, struct error *err);
    int (*next_histogram)(struct raw_profile *profile, struct raw_histogram *line,
                          struct error *err);
    /* Frees profile->reader. */
    void (*close)(struct raw_profile *profile);
};

/* One reading of a file: dialect, layout, and the result of probing. */
struct raw_fit {
    const struct raw_dialect *dialect;
    struct raw_layout layout;
    struct raw_header header;
    struct raw_probe probe;
    bool headless; /* a killed sampler left zeros instead of a header */
    bool ours;     /* it looks like a profile of our sampler, which has an extension */
};

/* Rejects a large file, or a pipe before it is copied to a file, if its first bytes fit no dialect.
 * Returns 0, or -1 with ERR filled if it is rejected or reading fails. Consumes nothing. */
int raw_detect_early(struct stream *stream, const struct raw_options *options, struct error *err);

/* Finds the only reading that fits, among those allowed by OPTIONS. Returns 0 with READING filled, or -1. */
int raw_detect(struct stream *stream, const struct raw_options *options, struct raw_fit *reading,
               struct error *err);

extern const char
    raw_spool_unfinished[]; /* error message for a spool that is read without SALVAGE */
extern const struct raw_dialect raw_intrvelf, raw_intrvelf_aggregated, raw_sampler,
    raw_sampler_walltime, raw_pperf, raw_spool;

/* The functions probe, next and close of the dialects that store records (raw_records.c). */
int raw_records_probe(const struct raw_dialect *dialect, struct stream *stream,
                      const struct raw_header *header, struct raw_layout layout, bool salvage,
                      enum raw_verdict *verdict, struct raw_probe *probe, struct error *err);
int raw_records_next(struct raw_profile *profile, struct raw_samples *samples, struct error *err);
void raw_records_close(struct raw_profile *profile);
/* Decoded samples. Empty when zeroed; raw_batch_free releases it. */
enum { RAW_BATCH_THREAD_SAMPLES = 1024 };
struct raw_batch {
    size_t count, thread_sample_count, capacity;
    uint64_t time_ns[RAW_BATCH_SAMPLES];
    double value[RAW_BATCH_SAMPLES];
    uint32_t threads[RAW_BATCH_SAMPLES];
    struct raw_thread_sample *thread_samples; /* [capacity] */
    uint8_t *flags;                           /* [capacity]; NULL: none */
    uint64_t *callers;                        /* the same */
    size_t flag_capacity, caller_capacity;
    bool has_callers;
    uint8_t *opaque;    /* [RAW_BATCH_SAMPLES * opaque_size]: non-numeric values */
    size_t opaque_size; /* 0: none */
};

void raw_batch_free(struct raw_batch *batch);

/* Reads the flags of thread samples in the order of the file. To begin, set AT and COUNT and zero
 * the rest. */
struct raw_seen {
    uint64_t at;     /* offset at which the search for the next block begins */
    uint64_t number; /* of the next thread sample */
    uint64_t count;  /* number of thread samples with flags; those after them have lost theirs */
    struct buffer bytes;
    struct cursor flags, callers; /* the rest of the open block */
};

/* Opens the payload of a `seen` block. Returns 0, or -1 if the block is not the next one or its
 * size is wrong. */
int raw_seen_open(struct raw_seen *seen, struct cursor *in);
void raw_seen_free(struct raw_seen *seen);

/* Sets the flags of the thread samples of BATCH from the blocks in STREAM that begin at seen->at; restores the
 * position of the stream. Returns 0, or -1. */
int raw_seen_fill(struct raw_seen *seen, struct stream *stream, struct raw_batch *batch,
                  struct error *err);

/* The samples in BATCH, borrowed from it. */
struct raw_samples raw_batch_samples(const struct raw_batch *batch);

/* Decodes COUNT threads of THREAD_SIZE bytes at FROM. */
static inline void raw_get_threads(struct raw_thread_sample *thread_samples, const uint8_t *from,
                                   size_t count, size_t thread_size, bool big)
{
    for (size_t i = 0; i < count; i++, from += thread_size) {
        thread_samples[i].tid = get_u32(from, big);
        thread_samples[i].pc = get_u64(from + 4, big);
        thread_samples[i].cpu_ns = thread_size == 20 ? get_u64(from + 12, big) : 0;
    }
}

/* Makes room for COUNT more thread samples and one unused, so that the arrays are never empty. */
static inline void raw_batch_reserve(struct raw_batch *b, size_t count)
{
    if (b->thread_sample_count + count >= b->capacity)
        mem_reserve(&b->thread_samples, &b->capacity, b->thread_sample_count + count + 1,
                    sizeof *b->thread_samples);
}

/* Appends a sample with COUNT threads at FROM, THREAD_SIZE bytes each. */
static inline void raw_batch_put(struct raw_batch *b, uint64_t time_ns, double value,
                                 const uint8_t *from, size_t count, size_t thread_size, bool big)
{
    raw_batch_reserve(b, count);
    raw_get_threads(b->thread_samples + b->thread_sample_count, from, count, thread_size, big);
    b->time_ns[b->count] = time_ns;
    b->value[b->count] = value;
    b->threads[b->count++] = (uint32_t)count;
    b->thread_sample_count += count;
}

/* Reads COUNT VMMaps at OFFSET and checks them: labels, no wrap-around. MAPS and ODD may be NULL; *ODD is set if a
 * label has control characters, or bytes other than NULs after its end. Returns 1 if plausible, 0 if not, 2 if
 * truncated, -1 on a read error. */
int raw_vmmaps_read(struct stream *stream, uint64_t offset, size_t count, bool big,
                    struct raw_vmmap *maps, bool *odd, struct error *err);

/* Returns 1 if OFFSET is the end of the data or, with SALVAGE, if only part of the signature of the
 * raw extension follows; 2 if the extension begins there; 0 for neither; -1 on a read error. */
int raw_at_end(struct stream *stream, uint64_t offset, bool salvage, struct error *err);

#endif
