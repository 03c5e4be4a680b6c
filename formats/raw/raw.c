/* Raw profiles: opens and reads any dialect.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/intern.h"
#include "base/memory.h"
#include "formats/raw/raw_dialect.h"
#include "formats/raw/raw_readings.h"

const char *raw_profile_dialect(const struct raw_profile *profile)
{
    return profile->dialect->name;
}

static const struct {
    const char *name;
    uint32_t size;
} value_types[] = {
    [RAW_VALUE_AUTO] = {"auto", 0}, [RAW_F64] = {"f64", 8}, [RAW_F32] = {"f32", 4},
    [RAW_I8] = {"i8", 1},           [RAW_I16] = {"i16", 2}, [RAW_I32] = {"i32", 4},
    [RAW_I64] = {"i64", 8},         [RAW_U8] = {"u8", 1},   [RAW_U16] = {"u16", 2},
    [RAW_U32] = {"u32", 4},         [RAW_U64] = {"u64", 8}, [RAW_OPAQUE] = {"opaque", 0}};

int raw_value_parse(const char *name)
{
    for (size_t i = 0; i < sizeof value_types / sizeof value_types[0]; i++)
        if (strcmp(value_types[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int resolve_value(struct raw_profile *p, enum raw_value asked, struct error *err)
{
    const char *name = stream_name(p->stream);
    uint32_t size = p->header.value_size;
    if (p->aggregated || p->dialect != &raw_pperf) {
        p->value = RAW_F64;
        return asked == RAW_VALUE_AUTO || asked == RAW_F64
                   ? 0
                   : error_set(
                         err, name, 28,
                         "dialect %s has PMU values of type f64, expected --pmu-type=f64 or none",
                         p->dialect->name);
    }
    p->value = asked != RAW_VALUE_AUTO ? asked : size == 8 ? RAW_F64 : RAW_OPAQUE;
    if (asked == RAW_VALUE_AUTO && (size == 1 || size == 2 || size == 4))
        return error_set(
            err, name, 28,
            "PMU values have %u byte%s, but the file does not record their type: use --pmu-type "
            "(%s%d, %s%d or opaque)",
            size, size > 1 ? "s" : "", size == 4 ? "f32, i" : "i", size * 8, "u", size * 8);
    if (p->value != RAW_OPAQUE && value_types[p->value].size != size)
        return error_set(err, name, 28, "PMU values have %u bytes, but type %s has %u", size,
                         value_types[p->value].name, value_types[p->value].size);
    return 0;
}

/* Options may specify a kind that the file leaves open, but not contradict the file. */
static int resolve_kind(struct raw_profile *p, enum pmu_kind asked, struct error *err)
{
    enum pmu_kind known = raw_pmu_kind(p);
    p->asked_kind = asked;
    if (asked == PMU_NONE || asked == known || known == PMU_CUSTOM)
        return 0;
    return error_set(
        err, stream_name(p->stream), NO_OFFSET,
        "PMU values are %s: --pmu-kind applies only to profiles that do not contain it",
        known == PMU_NONE      ? "none, or opaque"
        : known == PMU_CURRENT ? "currents"
        : known == PMU_VOLTAGE ? "voltages"
                               : "powers");
}

static int read_maps(struct raw_profile *p, uint64_t at, struct error *err)
{
    if ((uint64_t)p->header.vmmaps * RAW_VMMAP_SIZE > stream_size(p->stream))
        return 0; /* a salvaged file whose header counts more VMMaps than fit */
    p->maps = mem_zalloc(p->header.vmmaps, sizeof *p->maps);
    p->map_count = p->header.vmmaps;
    int got = raw_vmmaps_read(p->stream, at, p->map_count, p->layout.big, p->maps, NULL, err);
    if (got == 1)
        return 0;
    free(p->maps); /* a salvaged file has lost the VMMaps after its samples */
    p->maps = NULL;
    p->map_count = 0;
    return got < 0 ? -1 : 0;
}

/* The same for a spool, whose header has no VMMaps: the mappings of files of all images, each once.
 * Texts of the extension are interned, so that equal texts have equal pointers. */
static void adopt_mapx(struct raw_profile *p)
{
    struct strings *known = strings_new();
    size_t capacity = 0;
    for (size_t i = 0; i < p->ext.mapx_count; i++) {
        const struct raw_mapx *from = &p->ext.mapx[i];
        const uint64_t key[] = {from->address, from->size, (uintptr_t)from->path};
        uint32_t count = strings_count(known);
        if (from->kind != RAW_MAP_FILE ||
            strings_intern_bytes(known, (const char *)key, sizeof key) < count)
            continue;
        struct raw_vmmap *to = MEM_APPEND(p->maps, p->map_count, capacity);
        *to = (struct raw_vmmap){.address = from->address, .size = from->size};
        snprintf(to->label, sizeof to->label, "%s", from->path);
    }
    strings_delete(known);
}

/* Adds the mappings of the extension that appeared after the VMMaps of the header were written. */
static void adopt_maps(struct raw_profile *p)
{
    if (p->map_count == 0 && p->ext.map_count == 0)
        adopt_mapx(p);
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

static int compare_addresses(const void *left, const void *right)
{
    const struct raw_vmmap *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Leaves out VMMaps that overlap with another one, because their process and time are no longer
 * known. The first VMMap remains the first. */
static void drop_ambiguous_maps(struct raw_profile *p)
{
    struct raw_vmmap *sorted = mem_alloc((p->map_count + 1) * sizeof *sorted);
    struct numbers shared = {0};
    memcpy(sorted, p->maps, p->map_count * sizeof *sorted);
    qsort(sorted, p->map_count, sizeof *sorted, compare_addresses);
    uint64_t last = 0, widest = 0;
    for (size_t i = 0; i < p->map_count; i++) {
        uint64_t end = sorted[i].address + (sorted[i].size > 0 ? sorted[i].size - 1 : 0);
        if (i > 0 && sorted[i].address <= last) {
            numbers_intern(&shared, sorted[i].address);
            numbers_intern(&shared, widest);
        }
        if (i == 0 || end > last) {
            last = end;
            widest = sorted[i].address;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->map_count; i++)
        if (numbers_find(&shared, p->maps[i].address) == INTERN_NONE)
            p->maps[kept++] = p->maps[i];
    p->map_count = kept;
    numbers_free(&shared);
    free(sorted);
}

/* Finds the time up to which all sources have readings. Returns 0 or -1. */
static int find_last_reading(struct raw_profile *p, struct error *err)
{
    uint64_t *last_ns = mem_zalloc(p->ext.source_count, sizeof *last_ns);
    struct raw_reading_walk walk = raw_reading_walk_begin(p->stream, &p->ext);
    struct raw_reading reading;
    int got;
    while ((got = raw_reading_next(&walk, &reading, err)) > 0)
        last_ns[reading.source] = reading.time;
    for (size_t i = 0; i < p->ext.source_count; i++)
        p->energy_ns = last_ns[i] < p->energy_ns ? last_ns[i] : p->energy_ns;
    raw_reading_walk_end(&walk);
    free(last_ns);
    return got;
}

/* Lost data of a truncated profile of our sampler is not made up: without times, which are nowhere
 * else in the file, intervals are 0, and the process and mapping of a sample are unknown. */
static int drop_lost(struct raw_profile *p, bool ours, struct error *err)
{
    const struct raw_extension *ext = &p->ext;
    p->cut |= ours && !p->has_extension;
    if (p->aggregated || !p->cut || (!ours && !p->has_extension))
        return 0;
    p->lost_flags = ext->seen_count < p->threads ? p->threads - ext->seen_count : 0;
    p->lost_times = p->timed < p->samples;
    p->lost_maps = p->lost_times || (ext->seen_at == 0 && ext->read_at == 0 && !ext->done);
    if (ext->source_count > 0 && ext->seen_at == 0 && !ext->done && find_last_reading(p, err) != 0)
        return -1;
    if (p->lost_times && p->energy_ns > ext->last_ns)
        p->energy_ns = ext->last_ns;
    if (p->energy_ns != UINT64_MAX)
        p->header.wall_us = p->header.latency_us = 0; /* those of the whole run */
    if (!p->lost_maps)
        return 0;
    raw_extension_forget_images(&p->ext);
    if (ext->map_count == 0 && p->map_count > 0)
        drop_ambiguous_maps(p);
    return 0;
}

/* The extension must describe all samples, unless the profile was salvaged. */
static int check_extension(struct raw_profile *p, uint64_t at, bool salvage, struct error *err)
{
    const struct raw_extension *ext = &p->ext;
    const char *name = stream_name(p->stream);
    if (ext->done && ext->samples != p->samples)
        return error_set(err, name, at, "raw extension of %" PRIu64 " samples, expected %" PRIu64,
                         ext->samples, p->samples);
    if (p->has_flags && ext->seen_count != p->threads && !salvage)
        return error_set(err, name, ext->seen_at,
                         "flags of %" PRIu64 " thread samples, expected %" PRIu64, ext->seen_count,
                         p->threads);
    p->timed = salvage && ext->time_count < p->samples ? ext->time_count : p->samples;
    p->cut |= !ext->done || (ext->time_at != 0 && p->timed < p->samples) ||
              (p->has_flags && ext->seen_count < p->threads);
    return 0;
}

static int read_extension(struct raw_profile *p, uint64_t at, bool salvage, struct error *err)
{
    if (stream_seek(p->stream, at, err) != 0 ||
        raw_extension_read(p->stream, &p->ext, salvage, err) != 0)
        return -1;
    p->has_extension = true;
    p->has_flags = p->ext.seen_at != 0;
    adopt_maps(p);
    if (p->dialect == &raw_spool) {
        p->samples = p->ext.samples - (p->has_flags ? p->ext.unseen : 0);
        return p->samples > 0 ? 0
                              : error_set(err, stream_name(p->stream), at,
                                          "unfinished profile without a complete sample");
    }
    return check_extension(p, at, salvage, err);
}

static int fill(struct raw_profile *p, const struct raw_fit *reading,
                const struct raw_options *options, struct error *err)
{
    p->dialect = reading->dialect;
    p->layout = reading->layout;
    p->header = reading->header;
    p->aggregated = reading->dialect->aggregated;
    p->records_at = reading->probe.records_at;
    p->records_end = reading->probe.records_end;
    p->samples = p->aggregated ? p->header.samples : reading->probe.samples;
    p->threads = reading->probe.threads;
    p->headless = reading->headless;
    p->cut = reading->dialect == &raw_spool || reading->probe.error.text[0] != '\0';
    if (resolve_value(p, options->value, err) != 0)
        return -1;
    if (reading->probe.maps_at != 0 && read_maps(p, reading->probe.maps_at, err) != 0)
        return -1;
    if (reading->probe.extension_at != 0 &&
        read_extension(p, reading->probe.extension_at, options->salvage, err) != 0)
        return -1;
    if (resolve_kind(p, options->kind, err) != 0)
        return -1;
    p->energy_ns = UINT64_MAX;
    if (options->salvage && p->dialect != &raw_spool && drop_lost(p, reading->ours, err) != 0)
        return -1;
    p->has_times = !p->aggregated && (p->dialect->record.time_size != 0 || p->ext.time_at != 0);
    p->has_cpu = !p->aggregated && p->dialect->record.thread_size == 20;
    return 0;
}

struct raw_profile *raw_open(struct stream *stream, const struct raw_options *options,
                             struct error *err)
{
    struct raw_fit reading;
    if (options->salvage)
        stream_forgive(stream);
    if (raw_detect_early(stream, options, err) != 0 || stream_make_seekable(stream, err) != 0 ||
        raw_detect(stream, options, &reading, err) != 0)
        return NULL;
    struct raw_profile *profile = mem_zalloc(1, sizeof *profile);
    profile->stream = stream;
    if (fill(profile, &reading, options, err) == 0)
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

void raw_rewind(struct raw_profile *profile)
{
    profile->dialect->close(profile);
    profile->reader = NULL;
    profile->done = 0;
}

int raw_next_histogram(struct raw_profile *profile, struct raw_histogram *line, struct error *err)
{
    return profile->dialect->next_histogram(profile, line, err);
}

static enum pmu_kind kind_by_file(const struct raw_profile *profile)
{
    static const enum pmu_kind kinds[] = {PMU_CUSTOM, PMU_CURRENT, PMU_VOLTAGE, PMU_POWER};
    const char *pmu = profile->ext.facts.pmu, *said = profile->ext.facts.pmu_kind;
    bool aggregated = profile->dialect == &raw_intrvelf_aggregated;
    if (profile->dialect == &raw_intrvelf || (aggregated && said == NULL))
        return PMU_CURRENT;
    if (profile->value == RAW_OPAQUE || (pmu != NULL && strcmp(pmu, "none") == 0))
        return PMU_NONE;
    if (profile->dialect == &raw_spool || aggregated) { /* the header does not contain the kind */
        int number = said == NULL ? -1 : pmu_kind_parse(said);
        return number < 0 ? PMU_CUSTOM : (enum pmu_kind)number;
    }
    return kinds[profile->header.magic & 3];
}

enum pmu_kind raw_pmu_kind(const struct raw_profile *profile)
{
    enum pmu_kind kind = kind_by_file(profile);
    return kind == PMU_CUSTOM && profile->asked_kind != PMU_NONE ? profile->asked_kind : kind;
}

bool raw_has_clock(const struct raw_profile *profile)
{
    return profile->dialect == &raw_spool || profile->ext.time_at != 0;
}
