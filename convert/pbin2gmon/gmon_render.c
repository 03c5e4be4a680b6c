/* Converts time per address to the histograms of a gmon.out.
 * SPDX-License-Identifier: MIT */
#include "convert/pbin2gmon/gmon_render.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"

enum {
    MAX_BIN = UINT16_MAX,
    MAX_HISTOGRAMS = 16,
    MAX_BYTES = 256 * 1024 * 1024 /* of bins: the limit of readers, including ours */
};

/* A bin with ticks. */
struct filled_bin {
    uint64_t number, ticks;
};

struct render {
    const struct gmon_render_options *options;
    uint64_t low, span,
        bin_count;              /* bins of SPAN / BIN_COUNT bytes each, exactly 2 * 65536 / scale */
    struct address_time *items; /* items in the text, ascending */
    size_t count;
    struct filled_bin *bins;
    size_t filled;
    uint64_t most; /* ticks in a bin */
};

/* Finds the first and last address of all code. Returns false if there is no code. */
static bool code_range(const struct elf_file *image, uint64_t *first, uint64_t *last)
{
    *first = UINT64_MAX;
    *last = 0;
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *s = &image->sections[i];
        if (!(s->flags & SHF_EXECINSTR) || s->size == 0 || s->size - 1 > UINT64_MAX - s->address)
            continue;
        *first = s->address < *first ? s->address : *first;
        *last = s->address + s->size - 1 > *last ? s->address + s->size - 1 : *last;
    }
    for (size_t i = 0; image->section_count == 0 && i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (!s->executable || s->memory_size == 0 || s->memory_size - 1 > UINT64_MAX - s->address)
            continue;
        *first = s->address < *first ? s->address : *first;
        *last = s->address + s->memory_size - 1 > *last ? s->address + s->memory_size - 1 : *last;
    }
    return *first <= *last;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Lays out bins that cover the code and have exactly the width used by profil: a reader divides the
 * span by their number, so the span is a multiple of the least number of bytes that contains a
 * whole number of bins. */
static int lay_out(struct render *r, const struct elf_file *image, struct error *err)
{
    uint64_t first, last;
    if (!code_range(image, &first, &last))
        return error_set(err, image->path, NO_OFFSET, "has no code");
    uint64_t divisor = common_divisor(0x20000, r->options->scale);
    uint64_t bytes = 0x20000 / divisor, bins = r->options->scale / divisor;
    r->low = first & ~UINT64_C(3);
    uint64_t pieces = (last - r->low) / bytes + 1;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a scale of 2 or more has bins */
    if (pieces > MAX_BYTES / 2 / bins || last > UINT64_MAX - 0x40000)
        return error_set(err, image->path, NO_OFFSET,
                         "%" PRIu64 " bytes of code at scale %" PRIu32
                         " need more than 256 MiB of bins: use a smaller --scale",
                         last - r->low + 1, r->options->scale);
    r->span = pieces * bytes;
    r->bin_count = pieces * bins;
    return 0;
}

static int compare_items(const void *left, const void *right)
{
    const struct address_time *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Keeps the items in the text; returns the time of the others. */
static exact clip(struct render *r, size_t count)
{
    exact outside = 0;
    r->count = 0;
    for (size_t i = 0; i < count; i++)
        if (r->items[i].address >= r->low && r->items[i].address - r->low < r->span)
            r->items[r->count++] = r->items[i];
        else
            outside += r->items[i].time;
    if (r->count > 0)
        qsort(r->items, r->count, sizeof *r->items, compare_items);
    return outside;
}

static uint64_t ticks_of(exact time, uint64_t rate)
{
    const exact second = (exact)1000000000 << TIME_SHIFT;
    return (uint64_t)((time * (exact)rate + second / 2) / second);
}

/* Fills the bins. Rounds the running sum instead of each item, so that many small items do not
 * vanish. */
static void fill(struct render *r, uint64_t rate)
{
    exact sum = 0;
    uint64_t before = 0;
    r->filled = 0;
    r->most = 0;
    for (size_t i = 0; i < r->count; i++) {
        sum += r->items[i].time;
        uint64_t ticks = ticks_of(sum, rate), offset = r->items[i].address - r->low;
        uint64_t number = (uint64_t)((exact)offset * r->bin_count / r->span);
        if (ticks == before)
            continue;
        if (r->filled == 0 || r->bins[r->filled - 1].number != number)
            r->bins[r->filled++] = (struct filled_bin){number, 0};
        struct filled_bin *bin = &r->bins[r->filled - 1];
        bin->ticks += ticks - before;
        r->most = bin->ticks > r->most ? bin->ticks : r->most;
        before = ticks;
    }
}

/* Finds the rate at which the ticks fit in the bins, with as many histograms as allowed. */
static int choose_rate(struct render *r, uint64_t *rate, uint64_t most, struct reporter *reporter,
                       struct error *err)
{
    uint64_t asked = *rate;
    for (fill(r, *rate); r->most > most; fill(r, *rate)) {
        if (*rate == 1)
            return error_set(err, NULL, NO_OFFSET,
                             "%" PRIu64 " s at one address do not fit into bins of %" PRIu64
                             " ticks",
                             r->most, most);
        uint64_t less = (uint64_t)((exact)*rate * most / r->most);
        *rate = less < *rate - 1 ? (less > 0 ? less : 1) : *rate - 1;
    }
    if (*rate != asked)
        report_warning(reporter,
                       "bins hold at most %" PRIu64 " ticks: written as if sampled at %" PRIu64
                       " Hz, not %" PRIu64 " (times and shares are unchanged)",
                       most, *rate, asked);
    return 0;
}

static void put_u16(uint8_t *p, uint64_t value, bool big)
{
    p[big ? 1 : 0] = (uint8_t)value;
    p[big ? 0 : 1] = (uint8_t)(value >> 8);
}

/* Makes histogram NUMBER of several over the same text: it has the ticks of each bin above NUMBER *
 * 65535. */
static void make_histogram(struct gmon *g, const struct render *r, uint64_t rate, uint64_t number)
{
    uint8_t *bins = mem_zalloc(r->bin_count, 2);
    for (size_t i = 0; i < r->filled; i++) {
        const struct filled_bin *bin = &r->bins[i];
        uint64_t above = bin->ticks > number * MAX_BIN ? bin->ticks - number * MAX_BIN : 0;
        put_u16(bins + 2 * bin->number, above < MAX_BIN ? above : MAX_BIN, g->big_endian);
    }
    *MEM_APPEND(g->histograms, g->histogram_count, g->histogram_capacity) =
        (struct gmon_histogram){.low = r->low,
                                .high = r->low + r->span,
                                .rate = (uint32_t)rate,
                                .bin_count = r->bin_count,
                                .there = r->bin_count,
                                .bins = bins};
}

int gmon_render(struct gmon *g, const struct elf_file *image, struct address_time *items,
                size_t count, const struct gmon_render_options *options, exact *outside,
                struct reporter *reporter, struct error *err)
{
    struct render r = {.options = options, .items = items};
    uint64_t histograms, rate = options->rate;
    g->dialect = options->dialect;
    g->is_64 = image->is_64;
    g->big_endian = image->big_endian;
    if (lay_out(&r, image, err) != 0)
        return -1;
    *outside = clip(&r, count);
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): at least one, see lay_out */
    uint64_t room = MAX_BYTES / 2 / r.bin_count;
    room = g->dialect != GMON_GNU || room < 1 ? 1 : room < MAX_HISTOGRAMS ? room : MAX_HISTOGRAMS;
    r.bins = mem_zalloc(r.count, sizeof *r.bins);
    int result = choose_rate(&r, &rate, room * MAX_BIN, reporter, err);
    histograms = r.most == 0 ? 1 : (r.most + MAX_BIN - 1) / MAX_BIN;
    for (uint64_t i = 0; i < histograms && result == 0; i++)
        make_histogram(g, &r, rate, i);
    free(r.bins);
    return result;
}

void gmon_render_free(struct gmon *g)
{
    for (size_t i = 0; i < g->histogram_count; i++)
        free((void *)g->histograms[i].bins);
    free(g->histograms);
    free(g->calls);
}
