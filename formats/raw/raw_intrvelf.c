/* The oldest dialects: current and program counters, full or summed per byte of code.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/memory.h"

const struct raw_dialect raw_intrvelf = {
    .name = "intrvelf",
    .help = "current [A], threads without CPU time",
    .header_size = 32,
    .magic_most = 1,
    .record = {.time_size = 0, .value_size = 8, .thread_size = 12},
    .probe = raw_records_probe,
    .next = raw_records_next,
    .close = raw_records_close,
};

/*   header
 *   VMMaps
 *   u64 samples, f64 summed current     outside every VMMap
 *   per VMMap: u64 address
 *              u64 samples, f64 summed current     for each of its bytes */
enum { ENTRY = 16 };

/* The offset at which the entries end if all are present; UINT64_MAX if no file can be that
 * large. */
static uint64_t expected_end(const struct raw_vmmap *maps, size_t count, uint64_t at)
{
    at += ENTRY;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes;
        if (__builtin_mul_overflow(maps[i].size, ENTRY, &bytes) ||
            __builtin_add_overflow(at, bytes, &at) || __builtin_add_overflow(at, 8, &at))
            return UINT64_MAX;
    }
    return at;
}

/* Whether each run of entries begins with the address of its VMMap. Returns 1, 0, or -1 on a read error. */
static int addresses_agree(struct stream *stream, const struct raw_vmmap *maps, size_t count,
                           uint64_t at, bool big, struct error *err)
{
    at += ENTRY;
    for (size_t i = 0; i < count && at + 8 <= stream_size(stream); i++) {
        const uint8_t *data;
        if (stream_seek(stream, at, err) != 0)
            return -1;
        int64_t have = stream_peek(stream, 8, &data, err);
        if (have < 0)
            return -1;
        if (have < 8 || get_u64(data, big) != maps[i].address)
            return 0;
        at += 8 + maps[i].size * ENTRY;
    }
    return 1;
}

static int set_verdict(struct stream *stream, const struct raw_vmmap *maps, size_t count, bool big,
                       bool salvage, enum raw_verdict *verdict, struct raw_probe *probe,
                       struct error *err)
{
    uint64_t end = expected_end(maps, count, probe->records_at);
    int agree = addresses_agree(stream, maps, count, probe->records_at, big, err);
    if (agree <= 0)
        return agree;
    if (end > stream_size(stream)) { /* not salvaged, because most of its entries are lost */
        *verdict = RAW_MALFORMED;
        error_set(&probe->error, stream_name(stream), stream_size(stream),
                  "histogram cut short: expected %" PRIu64 " bytes", end);
        return 0;
    }
    int at_end = raw_at_end(stream, end, salvage, err);
    probe->records_end = end;
    probe->extension_at = at_end == 2 ? end : 0;
    *verdict = at_end > 0 ? RAW_FITS : RAW_NO;
    return at_end < 0 ? -1 : 0;
}

static int probe_aggregated(const struct raw_dialect *dialect, struct stream *stream,
                            const struct raw_header *header, struct raw_layout layout, bool salvage,
                            enum raw_verdict *verdict, struct raw_probe *probe, struct error *err)
{
    *verdict = RAW_NO;
    probe->maps_at = dialect->header_size;
    probe->records_at = probe->maps_at + (uint64_t)header->vmmaps * RAW_VMMAP_SIZE;
    if (layout.late || header->magic != 1 || header->samples == 0 ||
        probe->records_at > stream_size(stream))
        return 0;
    struct raw_vmmap *maps = mem_zalloc(header->vmmaps, sizeof *maps);
    int result =
        raw_vmmaps_read(stream, probe->maps_at, header->vmmaps, layout.big, maps, &probe->odd, err);
    if (result == 1)
        result =
            set_verdict(stream, maps, header->vmmaps, layout.big, salvage, verdict, probe, err);
    free(maps);
    return result < 0 ? -1 : 0;
}

struct raw_reader {
    size_t map;    /* being read; the entry outside every VMMap comes before map 0 */
    uint64_t byte; /* within that map */
};

/* Finds the first non-zero of COUNT entries. Returns its index, or COUNT. */
static size_t find_entry(const uint8_t *data, size_t count, bool big)
{
    size_t i = 0;
    while (i < count && get_u64(data + i * ENTRY, big) == 0)
        i++;
    return i;
}

static int first_line(struct raw_profile *p, struct raw_histogram *line, struct error *err)
{
    uint8_t entry[ENTRY];
    p->reader = mem_zalloc(1, sizeof *p->reader);
    if (stream_seek(p->stream, p->records_at, err) != 0 ||
        stream_read(p->stream, entry, ENTRY, "histogram", err) != 1)
        return -1;
    *line = (struct raw_histogram){.unknown = true,
                                   .map = UINT32_MAX,
                                   .samples = get_u64(entry, p->layout.big),
                                   .current = get_f64(entry + 8, p->layout.big)};
    return line->samples > 0;
}

/* Skips the entries in a hole of the file, which are zeros. Returns 0 or -1. */
static int skip_hole(struct raw_profile *p, uint64_t left, struct error *err)
{
    int64_t hole = stream_hole(p->stream, err);
    uint64_t count = hole > 0 ? (uint64_t)hole / ENTRY : 0;
    if (count > left)
        count = left;
    p->reader->byte += count;
    return hole < 0 ? -1 : stream_skip(p->stream, count * ENTRY, err);
}

/* Finds the next line in the rest of the current map. Returns 1, 0 if there is none, or -1. */
static int line_in_map(struct raw_profile *p, struct raw_histogram *line, struct error *err)
{
    struct raw_reader *r = p->reader;
    const struct raw_vmmap *map = &p->maps[r->map];
    while (r->byte < map->size) {
        const uint8_t *data;
        if (skip_hole(p, map->size - r->byte, err) != 0)
            return -1;
        if (r->byte == map->size)
            return 0;
        int64_t have = stream_peek(p->stream, ENTRY, &data, err);
        if (have < ENTRY)
            return have < 0 ? -1
                            : error_set(err, stream_name(p->stream), stream_offset(p->stream),
                                        "histogram cut short");
        uint64_t left = map->size - r->byte;
        size_t count = (uint64_t)have / ENTRY < left ? (size_t)have / ENTRY : (size_t)left;
        size_t found = find_entry(data, count, p->layout.big);
        if (found < count) {
            const uint8_t *entry = data + found * ENTRY;
            *line = (struct raw_histogram){.pc = map->address + r->byte + found,
                                           .map = (uint32_t)r->map,
                                           .samples = get_u64(entry, p->layout.big),
                                           .current = get_f64(entry + 8, p->layout.big)};
            stream_advance(p->stream, (found + 1) * ENTRY);
            r->byte += found + 1;
            return 1;
        }
        stream_advance(p->stream, count * ENTRY);
        r->byte += count;
    }
    return 0;
}

static int next_histogram(struct raw_profile *p, struct raw_histogram *line, struct error *err)
{
    if (p->reader == NULL) {
        int got = first_line(p, line, err);
        if (got != 0)
            return got;
    }
    for (struct raw_reader *r = p->reader; r->map < p->map_count; r->map++, r->byte = 0) {
        uint64_t address_bytes = r->byte == 0 ? 8 : 0;
        if (stream_skip(p->stream, address_bytes, err) != 0)
            return -1;
        int got = line_in_map(p, line, err);
        if (got != 0)
            return got;
    }
    return 0;
}

static void close_aggregated(struct raw_profile *p)
{
    free(p->reader);
}

const struct raw_dialect raw_intrvelf_aggregated = {
    .name = "intrvelf-aggregated",
    .help = "samples and summed current [A] per byte of text",
    .header_size = 32,
    .magic_most = 1,
    .aggregated = true,
    .probe = probe_aggregated,
    .next_histogram = next_histogram,
    .close = close_aggregated,
};
