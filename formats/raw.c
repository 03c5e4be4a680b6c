/* Raw profiles: detection by structure, and the common way in.
 * SPDX-License-Identifier: MIT */
#include "formats/raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "formats/raw_dialect.h"

/* The spool comes first: what it fits, no other dialect is asked about. */
const struct raw_dialect *const raw_dialects[] = {
    &raw_spool,   &raw_intrvelf,         &raw_intrvelf_aggregated,
    &raw_sampler, &raw_sampler_walltime, &raw_pperf,
};
const size_t raw_dialect_count = sizeof raw_dialects / sizeof raw_dialects[0];

const char *raw_dialect_name(size_t number)
{
    return number < raw_dialect_count ? raw_dialects[number]->name : NULL;
}

const char *raw_dialect_help(size_t number)
{
    return number < raw_dialect_count ? raw_dialects[number]->help : NULL;
}

const char *raw_profile_dialect(const struct raw_profile *profile)
{
    return profile->dialect->name;
}

static const struct {
    const char *name;
    uint32_t size;
} value_types[] = {[RAW_VALUE_AUTO] = {"auto", 0},
                   [RAW_F64] = {"f64", 8},
                   [RAW_F32] = {"f32", 4},
                   [RAW_I8] = {"i8", 1},
                   [RAW_I16] = {"i16", 2},
                   [RAW_I32] = {"i32", 4},
                   [RAW_I64] = {"i64", 8},
                   [RAW_U8] = {"u8", 1},
                   [RAW_U16] = {"u16", 2},
                   [RAW_U32] = {"u32", 4},
                   [RAW_U64] = {"u64", 8},
                   [RAW_OPAQUE] = {"opaque", 0}};

int raw_value_parse(const char *name)
{
    for (size_t i = 0; i < sizeof value_types / sizeof value_types[0]; i++)
        if (strcmp(value_types[i].name, name) == 0)
            return (int)i;
    return -1;
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

/* One reading of the file: dialect, layout, what probing found. */
struct reading {
    const struct raw_dialect *dialect;
    struct raw_layout layout;
    struct raw_header header;
    struct raw_probe probe;
};

struct search {
    const struct raw_options *options;
    uint8_t head[36];
    size_t head_size;
    struct reading fit, other; /* the first two that fit */
    struct reading part;       /* of those that are cut short the one with the most threads */
    size_t fits, parts;
};

static bool zero_header(const struct search *search)
{
    static const uint8_t zeros[32];
    return search->head_size >= 32 && memcmp(search->head, zeros, 32) == 0;
}

static void take(struct search *search, const struct reading *reading, enum raw_verdict verdict)
{
    if (verdict == RAW_FITS) {
        if (search->fits++ == 0)
            search->fit = *reading;
        else if (search->fits == 2)
            search->other = *reading;
    } else if (verdict == RAW_MALFORMED) {
        if (search->parts++ == 0 || reading->probe.threads > search->part.probe.threads)
            search->part = *reading;
    }
}

static int try_reading(struct search *search, struct stream *stream,
                       const struct raw_dialect *dialect, struct raw_layout layout,
                       struct error *err)
{
    struct reading reading = {.dialect = dialect, .layout = layout};
    enum raw_verdict verdict = RAW_NO;
    if (search->head_size < dialect->header_size)
        return 0;
    decode_header(search->head, dialect, layout.big, &reading.header);
    if (layout.late && reading.header.vmmaps == 0)
        return 0; /* the same as early */
    if (zero_header(search) && search->options->salvage && reading.header.value_size == 0)
        reading.header.value_size = 8; /* lost with pperf's header: the usual double */
    if (dialect->probe(dialect, stream, &reading.header, layout, search->options->salvage, &verdict,
                       &reading.probe, err) != 0)
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
    for (size_t i = 0; i < raw_dialect_count; i++) {
        const struct raw_dialect *dialect = raw_dialects[i];
        if (wanted != NULL && strcmp(wanted, dialect->name) != 0)
            continue;
        if (try_dialect(search, stream, dialect, err) != 0)
            return -1;
        if (dialect == &raw_spool && search->fits + search->parts > 0)
            break;
    }
    return 0;
}

static void describe(const struct reading *reading, char *text, size_t room)
{
    snprintf(text, room, "%s (%s endian, VMMaps %s the samples)", reading->dialect->name,
             reading->layout.big ? "big" : "little", reading->layout.late ? "behind" : "before");
}

static int refuse_unknown(const struct search *search, struct stream *stream, struct error *err)
{
    const char *name = stream_name(stream);
    if (search->head_size == 0)
        return error_set(err, name, 0, "is empty, not a raw profile");
    if (search->head_size < 32)
        return error_set(err, name, search->head_size,
                         "is no raw profile: %zu bytes, the header alone has 32", search->head_size);
    if (zero_header(search) && !search->options->salvage)
        return error_set(err, name, 0, "header of zeros, as a killed sampler leaves it: --salvage "
                                       "keeps every whole sample");
    if (memcmp(search->head, pbin_signature, PBIN_SIGNATURE_SIZE) == 0)
        return error_set(err, name, 0, "is a pbin profile already");
    if (search->options->dialect != NULL)
        return error_set(err, name, 0, "does not have the structure of a raw profile of dialect %s",
                         search->options->dialect);
    return error_set(err, name, 0,
                     "not recognised as a raw profile: no dialect's records end where it does");
}

/* Decides which reading it is. Returns 0 with *READING set, or -1. */
static int decide(const struct search *search, struct stream *stream,
                  const struct reading **reading, struct error *err)
{
    char one[128], two[128];
    if (search->fits > 1) {
        describe(&search->fit, one, sizeof one);
        describe(&search->other, two, sizeof two);
        return error_set(err, stream_name(stream), NO_OFFSET,
                         "fits as %s and as %s: choose with --format, -l or -b", one, two);
    }
    if (search->fits == 1) {
        *reading = &search->fit;
        return 0;
    }
    if (search->parts == 0)
        return refuse_unknown(search, stream, err);
    *reading = &search->part;
    if (search->options->salvage && search->part.probe.samples > 0)
        return 0;
    describe(&search->part, one, sizeof one);
    return error_set(err, stream_name(stream), search->part.probe.error.offset, "%s, read as %s",
                     search->part.probe.error.text, one);
}

static int resolve_value(struct raw_profile *p, enum raw_value asked, struct error *err)
{
    const char *name = stream_name(p->stream);
    uint32_t size = p->header.value_size;
    if (p->aggregated || p->dialect != &raw_pperf) {
        p->value = RAW_F64;
        return asked == RAW_VALUE_AUTO || asked == RAW_F64
                   ? 0
                   : error_set(err, name, 28, "dialect %s has PMU values of type f64 only",
                               p->dialect->name);
    }
    p->value = asked != RAW_VALUE_AUTO ? asked : size == 8 ? RAW_F64 : RAW_OPAQUE;
    if (asked == RAW_VALUE_AUTO && (size == 1 || size == 2 || size == 4))
        return error_set(err, name, 28,
                         "PMU values of %u byte%s: their type is not in the file, say --pmu-type "
                         "(%s%d, %s%d or opaque)",
                         size, size > 1 ? "s" : "", size == 4 ? "f32, i" : "i", size * 8, "u",
                         size * 8);
    if (p->value != RAW_OPAQUE && value_types[p->value].size != size)
        return error_set(err, name, 28, "PMU values of %u bytes, but type %s has %u", size,
                         value_types[p->value].name, value_types[p->value].size);
    return 0;
}

static int read_maps(struct raw_profile *p, uint64_t at, struct error *err)
{
    if ((uint64_t)p->header.vmmaps * RAW_VMMAP_SIZE > stream_size(p->stream))
        return 0; /* a salvaged file whose header counts more than it can hold */
    p->maps = mem_zalloc(p->header.vmmaps, sizeof *p->maps);
    p->map_count = p->header.vmmaps;
    int got = raw_vmmaps_read(p->stream, at, p->map_count, p->layout.big, p->maps, err);
    if (got == 1)
        return 0;
    free(p->maps); /* a salvaged file has lost those behind its samples */
    p->maps = NULL;
    p->map_count = 0;
    return got < 0 ? -1 : 0;
}

/* Mappings of the extension that the header does not list (it stood before they came up) do the same job. */
static void adopt_maps(struct raw_profile *p)
{
    if (p->map_count >= p->ext.map_count)
        return;
    p->maps = mem_resize(p->maps, p->ext.map_count, sizeof *p->maps);
    for (size_t i = p->map_count; i < p->ext.map_count; i++) {
        const struct raw_map *from = &p->ext.maps[i];
        p->maps[i] = (struct raw_vmmap){.address = from->address, .size = from->size};
        snprintf(p->maps[i].label, sizeof p->maps[i].label, "%s", from->path);
    }
    p->map_count = p->ext.map_count;
}

static int read_extension(struct raw_profile *p, uint64_t at, bool salvage, struct error *err)
{
    if (stream_seek(p->stream, at, err) != 0 ||
        raw_extension_read(p->stream, &p->ext, salvage, err) != 0)
        return -1;
    p->has_extension = true;
    adopt_maps(p);
    if (p->dialect == &raw_spool) {
        p->samples = p->ext.samples;
        return p->samples > 0 ? 0
                              : error_set(err, stream_name(p->stream), at,
                                          "unfinished profile without a whole sample");
    }
    if (p->ext.done && p->ext.samples != p->samples)
        return error_set(err, stream_name(p->stream), at,
                         "raw extension of %" PRIu64 " samples behind %" PRIu64, p->ext.samples,
                         p->samples);
    return 0;
}

static int fill(struct raw_profile *p, const struct reading *reading,
                const struct raw_options *options, struct error *err)
{
    p->dialect = reading->dialect;
    p->layout = reading->layout;
    p->header = reading->header;
    p->aggregated = reading->dialect->aggregated;
    p->records_at = reading->probe.records_at;
    p->records_end = reading->probe.records_end;
    p->samples = p->aggregated ? p->header.samples : reading->probe.samples;
    p->cut = reading->dialect == &raw_spool || reading->probe.error.text[0] != '\0';
    if (resolve_value(p, options->value, err) != 0)
        return -1;
    if (reading->probe.maps_at != 0 && read_maps(p, reading->probe.maps_at, err) != 0)
        return -1;
    if (reading->probe.extension_at != 0 &&
        read_extension(p, reading->probe.extension_at, options->salvage, err) != 0)
        return -1;
    p->has_times = !p->aggregated && (p->dialect->record.time_size != 0 || p->ext.time_at != 0);
    p->has_cpu = !p->aggregated && p->dialect->record.thread_size == 20;
    return 0;
}

struct raw_profile *raw_open(struct stream *stream, const struct raw_options *options,
                             struct error *err)
{
    struct search search = {.options = options};
    const struct reading *reading = NULL;
    const uint8_t *data;
    if (options->salvage)
        stream_forgive(stream);
    if (stream_make_seekable(stream, err) != 0)
        return NULL;
    int64_t have = stream_peek(stream, sizeof search.head, &data, err);
    if (have < 0)
        return NULL;
    search.head_size = have < (int64_t)sizeof search.head ? (size_t)have : sizeof search.head;
    memcpy(search.head, data, search.head_size);
    if (try_all(&search, stream, err) != 0 || decide(&search, stream, &reading, err) != 0)
        return NULL;
    struct raw_profile *profile = mem_zalloc(1, sizeof *profile);
    profile->stream = stream;
    if (fill(profile, reading, options, err) == 0)
        return profile;
    raw_close(profile);
    return NULL;
}

void raw_close(struct raw_profile *profile)
{
    if (profile == NULL)
        return;
    if (profile->dialect != NULL)
        profile->dialect->close(profile);
    raw_extension_free(&profile->ext);
    free(profile->maps);
    free(profile);
}

int raw_next(struct raw_profile *profile, struct raw_samples *samples, struct error *err)
{
    return profile->dialect->next(profile, samples, err);
}

int raw_next_histogram(struct raw_profile *profile, struct raw_histogram *line, struct error *err)
{
    return profile->dialect->next_histogram(profile, line, err);
}

enum pmu_kind raw_pmu_kind(const struct raw_profile *profile)
{
    static const enum pmu_kind kinds[] = {PMU_CUSTOM, PMU_CURRENT, PMU_VOLTAGE, PMU_POWER};
    const char *pmu = raw_extension_fact(&profile->ext, "pmu");
    if (profile->dialect == &raw_intrvelf || profile->dialect == &raw_intrvelf_aggregated)
        return PMU_CURRENT;
    if (profile->value == RAW_OPAQUE || (pmu != NULL && strcmp(pmu, "none") == 0))
        return PMU_NONE;
    if (profile->dialect == &raw_spool) { /* its header is zeros */
        const char *kind = raw_extension_fact(&profile->ext, "pmu_kind");
        int number = kind == NULL ? -1 : pmu_kind_parse(kind);
        return number < 0 ? PMU_CUSTOM : (enum pmu_kind)number;
    }
    return kinds[profile->header.magic & 3];
}
