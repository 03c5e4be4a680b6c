/* Detects dialect, layout and byte order of a raw profile by its structure: tries every combination on the file.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/raw/raw_dialect.h"

/* The spool comes first: if it fits, no other dialect is tried. */
static const struct raw_dialect *const dialects[] = {
    &raw_spool,   &raw_intrvelf,         &raw_intrvelf_aggregated,
    &raw_sampler, &raw_sampler_walltime, &raw_pperf,
};
enum { DIALECTS = sizeof dialects / sizeof dialects[0] };

const char *raw_dialect_name(size_t number)
{
    return number < DIALECTS ? dialects[number]->name : NULL;
}

const char *raw_dialect_help(size_t number)
{
    return number < DIALECTS ? dialects[number]->help : NULL;
}

/*   offset  0 u32 magic | 4 u64 wall [us] | 12 u64 latency [us] | 20 u64 samples | 28 u32 VMMaps
 *   pperf   the same up to 28:                                  u32 value size | 32 u32 VMMaps   */
static void decode_header(const uint8_t *from, const struct raw_dialect *dialect, bool big,
                          struct raw_header *header)
{
    *header = (struct raw_header){
        .magic = get_u32(from, big),
        .wall_us = get_u64(from + 4, big),
        .latency_us = get_u64(from + 12, big),
        .samples = get_u64(from + 20, big),
        .value_size = dialect->record.value_size,
        .vmmaps = get_u32(from + 28, big),
    };
    if (dialect->header_size == 36) {
        header->value_size = header->vmmaps;
        header->vmmaps = get_u32(from + 32, big);
    }
}

struct search {
    const struct raw_options *options;
    uint8_t head[36];
    size_t head_size;
    struct raw_fit fit, other; /* the first two that fit */
    /* of the truncated ones, the one with the most threads, if possible without implausible labels */
    struct raw_fit part;
    size_t fits, parts;
};

static bool zero_header(const struct search *search)
{
    static const uint8_t zeros[32];
    return search->head_size >= 32 && memcmp(search->head, zeros, 32) == 0;
}

/* Interpretations with implausible labels count only if there are no others. */
static void take(struct search *search, const struct raw_fit *reading, enum raw_verdict verdict)
{
    bool odd = reading->probe.odd;
    bool empty = reading->header.samples == 0 && search->fit.header.samples == 0 &&
                 !zero_header(search) && !search->options->salvage;
    if (verdict == RAW_FITS && search->fits > 0 && empty) {
        if (reading->dialect == &raw_sampler && reading->probe.extension_at != 0)
            search->fit = *reading;
        return; /* without samples, other dialects do not differ in any relevant way */
    }
    if (verdict == RAW_FITS) {
        if (search->fits > 0 && odd && !search->fit.probe.odd)
            return;
        if (search->fits > 0 && !odd && search->fit.probe.odd)
            search->fits = 0;
        if (search->fits++ == 0)
            search->fit = *reading;
        else if (search->fits == 2)
            search->other = *reading;
    } else if (verdict == RAW_MALFORMED) {
        bool other = search->part.probe.odd;
        /* if read with the thread size of another dialect, a few records of ours may seem to have
         * more threads */
        bool better = odd != other ? other
                      : reading->ours != search->part.ours
                          ? reading->ours
                          : reading->probe.threads > search->part.probe.threads;
        if (search->parts++ == 0 || better)
            search->part = *reading;
    }
}

/* Sets *OURS if READING looks like a profile of our sampler: unlike those of any other sampler, its
 * VMMaps have whole paths and precede the samples. Returns 0 or -1. */
static int seems_ours(struct stream *stream, const struct raw_fit *reading, bool *ours,
                      struct error *err)
{
    const uint8_t *data;
    *ours = false;
    if (reading->dialect != &raw_sampler || reading->layout.big || reading->layout.late ||
        reading->header.vmmaps == 0)
        return 0;
    if (stream_seek(stream, reading->probe.maps_at, err) != 0)
        return -1;
    int64_t have = stream_peek(stream, RAW_VMMAP_SIZE, &data, err);
    *ours = have >= RAW_VMMAP_SIZE && data[RAW_VMMAP_SIZE - RAW_LABEL_SIZE] == '/';
    return have < 0 ? -1 : 0;
}

static int try_reading(struct search *search, struct stream *stream,
                       const struct raw_dialect *dialect, struct raw_layout layout,
                       struct error *err)
{
    struct raw_fit reading = {.dialect = dialect, .layout = layout};
    enum raw_verdict verdict = RAW_NO;
    if (search->head_size < dialect->header_size)
        return 0;
    decode_header(search->head, dialect, layout.big, &reading.header);
    if (layout.late && reading.header.vmmaps == 0)
        return 0; /* the same as VMMaps before the samples */
    if (zero_header(search) && search->options->salvage && reading.header.value_size == 0)
        reading.header.value_size = 8; /* lost with the header of pperf: assume a double */
    if (dialect->probe(dialect, stream, &reading.header, layout, search->options->salvage, &verdict,
                       &reading.probe, err) != 0)
        return -1;
    if (verdict != RAW_NO && seems_ours(stream, &reading, &reading.ours, err) != 0)
        return -1;
    take(search, &reading, verdict);
    return 0;
}

static int try_dialect(struct search *search, struct stream *stream,
                       const struct raw_dialect *dialect, struct error *err)
{
    for (int big = 0; big < 2; big++)
        for (int late = 0; late < 2; late++) {
            if (search->options->order == (big ? 'l' : 'b'))
                continue;
            struct raw_layout layout = {.big = big, .late = late};
            if (try_reading(search, stream, dialect, layout, err) != 0)
                return -1;
        }
    return 0;
}

static int try_all(struct search *search, struct stream *stream, struct error *err)
{
    const char *wanted = search->options->dialect;
    for (size_t i = 0; i < DIALECTS; i++) {
        const struct raw_dialect *dialect = dialects[i];
        if (wanted != NULL && strcmp(wanted, dialect->name) != 0)
            continue;
        if (try_dialect(search, stream, dialect, err) != 0)
            return -1;
        if (dialect == &raw_spool && search->fits + search->parts > 0)
            break;
    }
    return 0;
}

static void describe(const struct raw_fit *reading, char *text, size_t room)
{
    snprintf(text, room, "%s (%s-endian, VMMaps %s the samples)", reading->dialect->name,
             reading->layout.big ? "big" : "little", reading->layout.late ? "after" : "before");
}

static int refuse_unknown(const struct search *search, struct stream *stream, struct error *err)
{
    const char *name = stream_name(stream);
    if (search->head_size < 32 && stream_damage(stream) != NULL)
        return error_set(err, name, stream_damage(stream)->offset, "%s",
                         stream_damage(stream)->text);
    if (search->head_size == 0)
        return stream_fail_empty(stream, "a raw profile", err);
    if (search->head_size < 32)
        return error_set(err, name, search->head_size,
                         "not a raw profile: %zu bytes, expected a header of at least 32",
                         search->head_size);
    if (zero_header(search) && !search->options->salvage)
        return error_set(err, name, 0,
                         "header of zeros, left by a killed sampler: --salvage keeps every "
                         "complete sample");
    if (memcmp(search->head, pbin_signature, PBIN_SIGNATURE_SIZE) == 0)
        return error_set(err, name, 0, "already a pbin profile");
    if (search->options->dialect != NULL)
        return error_set(err, name, 0,
                         "not a raw profile of dialect %s: its structure does not fit",
                         search->options->dialect);
    return error_set(
        err, name, 0,
        "not a raw profile: its records do not end at the end of the file in any dialect");
}

/* Chooses the reading that fits. Returns 0 with *READING set, or -1. */
static int decide(const struct search *search, struct stream *stream,
                  const struct raw_fit **reading, struct error *err)
{
    char one[128], two[128];
    *reading = search->fits == 1 ? &search->fit : &search->part;
    if (search->fits > 1) {
        describe(&search->fit, one, sizeof one);
        describe(&search->other, two, sizeof two);
        return error_set(err, stream_name(stream), NO_OFFSET,
                         "ambiguous: fits as %s and as %s; choose with --dialect, -l or -b", one,
                         two);
    }
    if (search->fits == 1)
        return 0;
    if (search->parts == 0)
        return refuse_unknown(search, stream, err);
    if (search->options->salvage && search->part.probe.samples > 0)
        return 0;
    describe(&search->part, one, sizeof one);
    return error_set(err, stream_name(stream), search->part.probe.error.offset, "%s, read as %s",
                     search->part.probe.error.text, one);
}

/* Reports a header of zeros, if the file is not to be salvaged. */
static int refuse_zeros(const struct search *search, struct stream *stream, bool is_spool,
                        struct error *err)
{
    const struct raw_fit spool = {.dialect = &raw_spool};
    char text[128];
    if (!is_spool)
        return refuse_unknown(search, stream, err);
    describe(&spool, text, sizeof text);
    return error_set(err, stream_name(stream), raw_spool.header_size, "%s, read as %s",
                     raw_spool_unfinished, text);
}

int raw_detect_early(struct stream *stream, const struct raw_options *options, struct error *err)
{
    enum { LARGE = 256 * 1024 };
    struct search search = {.options = options, .head_size = sizeof search.head};
    struct raw_header header;
    const uint8_t *data;
    int64_t have = stream_peek(stream, LARGE, &data, err);
    if (have < LARGE)
        return have < 0 ? -1 : 0;
    memcpy(search.head, data, sizeof search.head);
    if (zero_header(&search) && !options->salvage)
        return refuse_zeros(
            &search, stream,
            memcmp(data + raw_spool.header_size, raw_signature, RAW_SIGNATURE_SIZE) == 0, err);
    for (size_t i = 0; i < DIALECTS; i++)
        for (int big = 0; big < 2; big++) {
            decode_header(search.head, dialects[i], big, &header);
            if (header.magic <= dialects[i]->magic_most)
                return 0;
        }
    return refuse_unknown(&search, stream, err);
}

int raw_detect(struct stream *stream, const struct raw_options *options, struct raw_fit *reading,
               struct error *err)
{
    struct search search = {.options = options};
    const struct raw_fit *decided = NULL;
    const uint8_t *data;
    int64_t have = stream_peek(stream, sizeof search.head, &data, err);
    if (have < 0)
        return -1;
    search.head_size = have < (int64_t)sizeof search.head ? (size_t)have : sizeof search.head;
    memcpy(search.head, data, search.head_size);
    if (try_all(&search, stream, err) != 0 || decide(&search, stream, &decided, err) != 0)
        return -1;
    *reading = *decided;
    reading->headless = zero_header(&search) && reading->dialect != &raw_spool;
    return 0;
}
