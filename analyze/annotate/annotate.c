/* Annotation: sums the time and energy of lines or instructions.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/annotate.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/aggregate.h"
#include "analyze/attribute/labels.h"
#include "analyze/attribute/words.h"
#include "base/memory.h"

struct annotation *annotation_new(const struct annotate_options *options, struct reporter *reporter)
{
    struct annotation *a = mem_zalloc(1, sizeof *a);
    a->options = options;
    a->reporter = reporter;
    a->texts = strings_new();
    a->keys = strings_new();
    a->module_keys = strings_new();
    a->warned = strings_new();
    a->checksum_keys = strings_new();
    return a;
}

void annotation_delete(struct annotation *a)
{
    if (a == NULL)
        return;
    strings_delete(a->texts);
    strings_delete(a->keys);
    strings_delete(a->module_keys);
    strings_delete(a->warned);
    strings_delete(a->checksum_keys);
    numbers_free(&a->checksum_files);
    free(a->checksums);
    free(a->checksum_lists);
    pbin_meta_free(&a->meta);
    free(a->rows);
    free(a->modules);
    free(a);
}

const char *annotation_text(const struct annotation *a, uint32_t number)
{
    return strings_get(a->texts, number);
}

void annotate_sums_add(struct annotate_sums *to, const struct annotate_sums *part)
{
    to->time += part->time;
    to->energy += part->energy;
    to->samples += part->samples;
}

bool annotation_may_warn(const struct annotation *a, const char *path)
{
    uint32_t known = strings_count(a->warned);
    return strings_intern(a->warned, path) == known;
}

/* A file that was compiled in more versions than this is not shown. */
enum { MAX_VERSIONS = 64 };

static void take_checksum(struct annotation *a, const struct pbin_checksum *checksum)
{
    uint32_t known = strings_count(a->checksum_keys), files = a->checksum_files.count;
    if (strings_intern_bytes(a->checksum_keys, (const char *)checksum, sizeof *checksum) < known)
        return;
    uint32_t number = numbers_intern(&a->checksum_files, checksum->file);
    mem_reserve(&a->checksum_lists, &a->checksum_list_capacity, (size_t)number + 1,
                sizeof *a->checksum_lists);
    struct checksum_list *list = &a->checksum_lists[number];
    if (number == files)
        *list = (struct checksum_list){NO_CHECKSUM, 0};
    if (list->count++ >= MAX_VERSIONS)
        return;
    mem_reserve(&a->checksums, &a->checksum_capacity, a->checksum_count + 1, sizeof *a->checksums);
    a->checksums[a->checksum_count] =
        (struct annotate_checksum){checksum->binary, checksum->md5, list->first};
    list->first = (uint32_t)a->checksum_count++;
}

static void take_checksums(struct annotation *a, const struct pbin_definitions *all)
{
    for (size_t i = 0; i < all->checksum_count; i++) {
        const struct pbin_checksum *from = &all->checksums[i];
        const struct pbin_checksum own = {
            strings_intern(a->texts, label_unlike(strings_get(all->strings, from->binary))),
            strings_intern(a->texts, label_unlike(strings_get(all->strings, from->file))),
            strings_intern(a->texts, strings_get(all->strings, from->md5))};
        take_checksum(a, &own);
    }
}

/* Profiles that were aggregated without binaries do not show to which binary a checksum belongs. */
const char **annotation_md5s(const struct annotation *a, const struct annotate_row *row,
                             size_t *count)
{
    const char **found = mem_alloc(MAX_VERSIONS * sizeof *found);
    uint32_t number = numbers_find(&a->checksum_files, row->file);
    uint32_t at = number != INTERN_NONE ? a->checksum_lists[number].first : NO_CHECKSUM;
    *count = 0;
    for (; at != NO_CHECKSUM; at = a->checksums[at].next) {
        const struct annotate_checksum *c = &a->checksums[at];
        bool is_new = c->binary == row->binary || c->binary == 0 || row->binary == 0;
        const char *text = annotation_text(a, c->md5);
        for (size_t i = 0; i < *count && is_new; i++)
            is_new = found[i] != text;
        if (is_new)
            found[(*count)++] = text;
    }
    return found;
}

/* The keys of lines and instructions, and the position of each among the keys of the aggregate. */
enum { AT_BINARY, AT_FUNCTION, AT_INLINE, AT_FILE, AT_LINE, AT_PC, ROW_KEYS };
static const char *const key_names[ROW_KEYS] = {"binary", "function", "inline",
                                                "file",   "line",     "pc"};
#define NOT_THERE SIZE_MAX

struct layout {
    struct aggregate_options options;
    size_t at[ROW_KEYS]; /* index among the keys, or NOT_THERE */
};

/* Reads an aggregated profile with all its keys: rows are joined to fewer keys here, where no
 * variance over runs is needed. */
static int make_layout(struct layout *layout, const struct pbin_reader *reader, bool assembly,
                       const char *name, struct error *err)
{
    const char *names = pbin_reader_meta(reader)->keys;
    *layout = (struct layout){.options.rows.keys = *pbin_reader_keys(reader)};
    if (names == NULL)
        layout->options.rows.keys = pbin_keys_of(assembly ? "binary,function,inline,file,line,pc"
                                                          : "binary,function,inline,file,line");
    for (size_t k = 0; k < ROW_KEYS; k++) {
        size_t at = pbin_keys_index(&layout->options.rows.keys, key_names[k]);
        layout->at[k] = at < layout->options.rows.keys.count ? at : NOT_THERE;
        bool needed = k == AT_FUNCTION || (assembly ? k == AT_PC : k == AT_FILE || k == AT_LINE);
        if (needed && layout->at[k] == NOT_THERE)
            return error_set(err, name, NO_OFFSET, "was aggregated by %.200s: key %s is missing",
                             names, key_names[k]);
    }
    return 0;
}

/* The mapping of each program counter, taken from the locations of the profile. */
struct places {
    const struct pbin_definitions *all;
    struct numbers pcs;
    uint32_t *map;    /* [PCS]: number of the mapping */
    uint32_t *module; /* [mappings] */
};

static void places_init(struct places *p, const struct pbin_definitions *all)
{
    *p = (struct places){.all = all};
    p->map = mem_zalloc(all->location_count, sizeof *p->map);
    p->module = mem_alloc((all->map_count + 1) * sizeof *p->module);
    memset(p->module, 0xff, (all->map_count + 1) * sizeof *p->module);
    for (size_t i = 0; i < all->location_count; i++)
        p->map[numbers_intern(&p->pcs, all->locations[i].pc)] = all->locations[i].map;
}

static void places_free(struct places *p)
{
    numbers_free(&p->pcs);
    free(p->map);
    free(p->module);
}

static uint32_t module_of(struct annotation *a, struct places *p, uint32_t map)
{
    if (p->module[map] != NO_MODULE)
        return p->module[map];
    const struct pbin_map *from = &p->all->maps[map];
    struct annotate_module m;
    memset(&m, 0, sizeof m); /* its bytes are a key */
    m.label = strings_intern(a->texts, strings_get(p->all->strings, from->label));
    m.path = strings_intern(a->texts, strings_get(p->all->strings, from->path));
    m.build_id = strings_intern(a->texts, strings_get(p->all->strings, from->build_id));
    m.has_offset = from->offset != UINT64_MAX;
    m.size = m.has_offset ? 0 : from->size;
    uint32_t number = strings_intern_bytes(a->module_keys, (const char *)&m, sizeof m) - 1;
    if (number == a->module_count) {
        mem_reserve(&a->modules, &a->module_capacity, a->module_count + 1, sizeof *a->modules);
        a->modules[a->module_count++] = m;
    }
    return p->module[map] = number;
}

/* Sets the module of ROW and its address in it from PC. */
static void place(struct annotation *a, struct places *p, uint64_t pc, struct annotate_row *row)
{
    uint32_t number = numbers_find(&p->pcs, pc);
    row->module = NO_MODULE;
    row->address = pc;
    if (number == INTERN_NONE || p->map[number] == PBIN_NO_MAP)
        return;
    const struct pbin_map *map = &p->all->maps[p->map[number]];
    row->module = module_of(a, p, p->map[number]);
    row->address = pc - map->address + (map->offset != UINT64_MAX ? map->offset : 0);
}

static struct annotate_row *find_row(struct annotation *a, const struct annotate_row *like)
{
    const uint64_t key[] = {like->binary, like->function, like->inner,  like->file,
                            like->line,   like->module,   like->address};
    uint32_t index = strings_intern_bytes(a->keys, (const char *)key, sizeof key) - 1;
    if (index == a->row_count) {
        mem_reserve(&a->rows, &a->row_capacity, a->row_count + 1, sizeof *a->rows);
        a->rows[a->row_count++] = *like;
    }
    return &a->rows[index];
}

static uint32_t text_at(struct annotation *a, const struct aggregate *from,
                        const struct pbin_row *row, const struct layout *layout, size_t key)
{
    if (layout->at[key] == NOT_THERE)
        return 0;
    return strings_intern(a->texts, aggregate_text(from, row->key[layout->at[key]]));
}

/* The value of KEY in ROW; 0 for a row without code. */
static uint64_t value_at(const struct pbin_row *row, const struct layout *layout, size_t key)
{
    uint64_t number = row->key[layout->at[key]];
    return number == NUMBER_IDLE || number == NUMBER_GAP || number == NUMBER_OTHERS ? 0 : number;
}

/* Returns whether any sum of rows fits in an exact: it does if the sum of all absolute values
 * fits. */
static bool fits(struct annotation *a, const struct annotate_sums *sums)
{
    const exact values[] = {sums->time, sums->energy, sums->samples};
    bool all = true;
    for (size_t i = 0; i < 3; i++) {
        unsigned __int128 size = (unsigned __int128)values[i];
        size = values[i] < 0 ? -size : size;
        all =
            all && !__builtin_add_overflow(a->most[i], size, &a->most[i]) && a->most[i] >> 126 == 0;
    }
    return all;
}

static bool take_row(struct annotation *a, const struct aggregate *from, const struct pbin_row *row,
                     const struct layout *layout, struct places *p)
{
    struct annotate_sums sums = {row->sums.time, row->sums.energy, row->sums.samples};
    struct annotate_row like = {
        .binary = text_at(a, from, row, layout, AT_BINARY),
        .function = text_at(a, from, row, layout, AT_FUNCTION),
        .inner = text_at(a, from, row, layout, AT_INLINE),
        .file = text_at(a, from, row, layout, AT_FILE),
        .module = NO_MODULE,
    };
    if (!fits(a, &sums))
        return false;
    if (layout->at[AT_LINE] != NOT_THERE)
        like.line = value_at(row, layout, AT_LINE);
    if (a->options->assembly)
        place(a, p, value_at(row, layout, AT_PC), &like);
    annotate_sums_add(&find_row(a, &like)->sums, &sums);
    annotate_sums_add(&a->total, &sums);
    if (sums.samples > 0)
        annotate_sums_add(&a->sampled, &sums);
    return true;
}

static int take_rows(struct annotation *a, const struct aggregate *from, const char *name,
                     const struct layout *layout, struct places *places, struct error *err)
{
    for (size_t i = 0; i < aggregate_row_count(from); i++) {
        const struct pbin_row *row = aggregate_row(from, i);
        if (row->sums.runs > 0 && !take_row(a, from, row, layout, places))
            return error_set(err, name, NO_OFFSET, "contains sums too large to add up");
    }
    return 0;
}

/* Checks that all profiles have the same quantity. Returns 0, or -1 with ERR filled. */
static int take_meta(struct annotation *a, const struct pbin_meta *meta, const char *name,
                     struct error *err)
{
    struct quantity quantity;
    if (!a->any) {
        pbin_meta_copy(&a->meta, meta);
        quantity_of(&a->meta, &a->quantity);
        a->any = true;
    }
    quantity_of(meta, &quantity);
    if (!quantity_same(&a->quantity, &quantity))
        return error_set(err, name, NO_OFFSET, "contains %s, but previous profiles contain %s",
                         quantity.name == NULL ? "no PMU values" : quantity.name,
                         a->quantity.name == NULL ? "no PMU values" : a->quantity.name);
    return 0;
}

int annotation_read(struct annotation *a, struct pbin_reader *reader, const char *name,
                    struct error *err)
{
    const struct pbin_meta *meta = pbin_reader_meta(reader);
    struct layout layout;
    if (take_meta(a, meta, name, err) != 0 ||
        make_layout(&layout, reader, a->options->assembly, name, err) != 0)
        return -1;
    layout.options.no_gap_warning = true;
    layout.options.rows.keys.caller = a->options->keys.caller;
    layout.options.rows.weigh = a->options->weigh;
    layout.options.rows.given = a->options->given;
    layout.options.add = a->options->add;
    struct aggregate *from = aggregate_new(&layout.options);
    int result = aggregate_read(from, reader, name, 1, a->reporter, err);
    if (result == 0)
        result = aggregate_finish(from, err);
    if (result == 0)
        result =
            attribution_unite(&a->meta.attribution, aggregate_meta(from)->attribution, name, err);
    if (result == 0) {
        struct places places;
        places_init(&places, pbin_reader_definitions(reader));
        take_checksums(a, places.all);
        if (a->options->assembly && meta->keys != NULL && places.all->map_count == 0)
            report_warning(
                a->reporter,
                "%s: aggregated profiles contain no mappings: instructions need a full profile",
                name);
        for (size_t i = 0; i < places.all->map_count; i++)
            module_of(a, &places, (uint32_t)i);
        result = take_rows(a, from, name, &layout, &places, err);
        places_free(&places);
        a->runs = a->options->add ? 1 : a->runs + aggregate_run_count(from);
        if (!attribution_is_wall(a->meta.attribution) &&
            __builtin_add_overflow(a->waiting, aggregate_meta(from)->idle_samples, &a->waiting))
            a->waiting = UINT64_MAX;
    }
    aggregate_delete(from);
    return result;
}
