/* Sums by program counter, and their output as a profile.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/pc_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "convert/symbolize/locations.h"

enum { NOTABLE_PERCENT = 10 };

struct pc_sum *pc_sums_at(struct pc_sums *s, uint64_t pc)
{
    uint32_t number = numbers_intern(&s->pcs, pc);
    if (number == s->count)
        *MEM_APPEND(s->items, s->count, s->capacity) = (struct pc_sum){.pc = pc};
    return &s->items[number];
}

void pc_sums_free(struct pc_sums *s)
{
    numbers_free(&s->pcs);
    free(s->items);
}

/* A row and its sums. */
struct sum_row {
    struct pbin_row row;
    struct pc_sum sum;
};

struct sum_rows {
    struct sum_row *list;
    size_t count;
    uint64_t samples;
};

static int compare(const void *left, const void *right)
{
    const struct pc_sum *a = left, *b = right;
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

uint64_t pc_sums_count_maps(const struct pc_sums *s, size_t map_count,
                            struct symbolizer *symbolizer)
{
    uint64_t *samples = mem_zalloc(map_count + 1, sizeof *samples);
    for (size_t i = 0; i < s->count; i++) {
        uint32_t map = symbolizer_find_map(symbolizer, s->items[i].pc);
        samples[map < map_count ? map : map_count] += s->items[i].samples;
    }
    symbolizer_count(symbolizer, samples);
    uint64_t outside = samples[map_count];
    free(samples);
    return outside;
}

static void warn_of_outside(const struct pc_profile *p, uint64_t outside, struct reporter *reporter)
{
    double percent = 100 * (double)outside / (double)p->meta.samples;
    if (p->outside != NULL && p->map_count > 0 && percent >= NOTABLE_PERCENT)
        report_warning(reporter,
                       "%s: %.0f %% of the samples are outside its mappings, counted as "
                       "" LABEL_FOREIGN ": %s",
                       p->file, percent, p->outside);
}

static int add(struct sum_rows *rows, struct pc_sum *to, const struct pc_sum *from,
               const struct pc_profile *p, struct error *err)
{
    bool large = __builtin_add_overflow(to->samples, from->samples, &to->samples) ||
                 __builtin_add_overflow(rows->samples, from->samples, &rows->samples) ||
                 rows->samples > UINT64_C(1) << 40;
    for (size_t i = 0; i < PC_VALUES; i++)
        large |= __builtin_add_overflow(to->values[i], from->values[i], &to->values[i]);
    return large ? error_set(err, p->file, NO_OFFSET, "sums too large to add exactly") : 0;
}

/* Makes rows with their keys, and joins rows with the same key: different files can be mapped at an
 * address, one after the other. */
static int make_rows(const struct pc_sums *s, const struct pc_profile *p,
                     struct locations *locations, struct sum_rows *rows, struct error *err)
{
    struct strings *keys = strings_new();
    int result = 0;
    rows->list = mem_zalloc(s->count + 1, sizeof *rows->list);
    for (size_t i = 0; i < s->count && result == 0; i++) {
        struct pbin_row row = {0};
        char key[LOCATION_KEY_COUNT * sizeof row.key[0]];
        locations_key(locations, locations_number(locations, s->items[i].pc), &row);
        memcpy(key, row.key, sizeof key);
        size_t number = strings_intern_bytes(keys, key, sizeof key) - 1u; /* "" is 0 */
        if (number == rows->count)
            rows->list[rows->count++].row = row;
        result = add(rows, &rows->list[number].sum, &s->items[i], p, err);
    }
    for (size_t i = 0; i < rows->count; i++) {
        exact samples = (exact)rows->list[i].sum.samples;
        rows->list[i].row.sums =
            pbin_sums_of_run(samples << SAMPLES_SHIFT, UINT64_MAX, samples * p->time_each, 0);
    }
    strings_delete(keys);
    return result;
}

static void put_rows(const struct sum_rows *rows, const struct pc_profile *p,
                     struct pbin_writer *writer)
{
    const struct pbin_run run = {.name = pbin_define_string(writer, p->meta.name),
                                 .wall_ns = p->meta.wall_ns,
                                 .samples = p->meta.samples,
                                 .time = (exact)rows->samples * p->time_each};
    pbin_put_run(writer, &run);
    for (size_t i = 0; i < rows->count; i++)
        pbin_put_row(writer, &rows->list[i].row, LOCATION_KEY_COUNT);
}

static void put_measures(const struct sum_rows *rows, const struct pc_profile *p,
                         struct pbin_writer *writer)
{
    for (size_t m = 0; m < PC_VALUES && p->measures[m].name != NULL; m++) {
        const struct pbin_measure measure = {
            .name = pbin_define_string(writer, p->measures[m].name),
            .unit = pbin_define_string(writer, p->measures[m].unit),
            .join = PBIN_ADD};
        uint32_t number = pbin_define_measure(writer, &measure);
        for (size_t i = 0; i < rows->count; i++) {
            const struct pbin_measured measured = {
                (uint32_t)i, number, pbin_value_of_run((exact)rows->list[i].sum.values[m])};
            if (rows->list[i].sum.values[m] > 0)
                pbin_put_measured(writer, &measured);
        }
    }
}

static int write_rows(const struct pc_sums *s, const struct pc_profile *p,
                      struct locations *locations, struct pbin_writer *writer,
                      struct reporter *reporter, struct error *err)
{
    struct sum_rows rows = {0};
    warn_of_outside(p, pc_sums_count_maps(s, p->map_count, locations_symbolizer(locations)),
                    reporter);
    qsort(s->items, s->count, sizeof *s->items, compare);
    for (size_t i = 0; i < s->count; i++)
        locations_number(locations, s->items[i].pc);
    locations_resolve(locations);
    int result = make_rows(s, p, locations, &rows, err);
    if (result == 0) {
        put_rows(&rows, p, writer);
        put_measures(&rows, p, writer);
        locations_define_maps(locations);
    }
    free(rows.list);
    return result;
}

int pc_sums_write(const struct pc_sums *s, const struct pc_profile *p,
                  const struct symbolizer_options *symbols, struct output *out,
                  struct reporter *reporter, struct error *err)
{
    const struct location_facts facts = {.maps = p->maps, .map_count = p->map_count, .keys = true};
    struct pbin_meta meta = p->meta;
    meta.keys = (char *)LOCATION_KEYS;
    struct pbin_writer *writer = pbin_writer_open(out, &meta);
    struct locations *locations = locations_new(&facts, writer, symbols, reporter, err);
    int result = locations == NULL ? -1 : write_rows(s, p, locations, writer, reporter, err);
    result = pbin_writer_close(writer, result);
    locations_delete(locations);
    return result;
}
