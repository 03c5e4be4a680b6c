/* Functions of an ELF file by address.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/symbol_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "convert/symbolize/interval_map.h"

/* .symtab can be gigabytes only in a hostile file; an interval counts in 32 bits. */
enum { MOST_SYMBOLS = 1 << 26 };

struct symbol {
    uint64_t address, size;
    uint64_t section_last; /* last address of its section */
    const char *name;      /* borrowed from symbol_table.names */
    uint32_t rank;         /* place in the file's table */
};

struct symbol_table {
    char *names;
    const char **by_value; /* what the values of the map stand for */
    struct interval_map map;
};

struct reader {
    const struct elf_image *image;
    uint64_t names_size;
    const char *names;
    struct symbol *symbols;
    size_t count, capacity;
    const char *sought; /* only the symbol of this name counts; NULL: functions */
    uint64_t found;     /* its value */
};

/* $a $t $d $x (also "$x.1"): where ARM code changes its instruction set, not functions. */
static bool is_mapping_symbol(const struct elf_image *image, const char *name)
{
    return (image->machine == EM_ARM || image->machine == EM_AARCH64) && name[0] == '$' &&
           name[1] != '\0' && strchr("atdx", name[1]) != NULL &&
           (name[2] == '\0' || name[2] == '.');
}

/* Data counts too when it stands among the code: a table in .text is no part of the function
 * before. */
static bool is_wanted(unsigned type)
{
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE || type == STT_OBJECT;
}

static void add_symbol(struct reader *r, const uint8_t *p, uint32_t rank)
{
    bool big = r->image->big_endian, is_64 = r->image->is_64;
    uint32_t name = get_u32(p, big);
    unsigned type = p[is_64 ? 4 : 12] & 15u;
    uint16_t index = get_u16(p + (is_64 ? 6 : 14), big);
    struct symbol s = {.address = is_64 ? get_u64(p + 8, big) : get_u32(p + 4, big),
                       .size = is_64 ? get_u64(p + 16, big) : get_u32(p + 8, big),
                       .rank = rank};
    if (r->sought != NULL) {
        if (name < r->names_size && index != SHN_UNDEF && strcmp(r->names + name, r->sought) == 0) {
            r->found = s.address;
            r->count++;
        }
        return;
    }
    if (!is_wanted(type) || index == SHN_UNDEF || index >= r->image->section_count ||
        name >= r->names_size || r->names[name] == '\0')
        return;
    const struct elf_section *section = &r->image->sections[index];
    if (!(section->flags & SHF_EXECINSTR) || section->size == 0)
        return;
    if (r->image->machine == EM_ARM && type == STT_FUNC)
        s.address &= ~UINT64_C(1); /* Thumb */
    s.name = r->names + name;
    s.section_last = section->address + section->size - 1;
    if (s.address < section->address || s.address > s.section_last ||
        is_mapping_symbol(r->image, s.name))
        return;
    mem_reserve(&r->symbols, &r->capacity, r->count + 1, sizeof *r->symbols);
    r->symbols[r->count++] = s;
}

static bool read_symbols(struct reader *r, const struct elf_section *section)
{
    if (section == NULL || section->link >= r->image->section_count)
        return false;
    uint64_t size = r->image->is_64 ? 24 : 16;
    const struct elf_section *names = &r->image->sections[section->link];
    uint8_t *table = elf_image_contents(r->image, section);
    r->names = table != NULL ? (char *)elf_image_contents(r->image, names) : NULL;
    r->names_size = names->size;
    uint64_t count = section->size / size;
    for (uint64_t i = 1; r->names != NULL && i < count && i < MOST_SYMBOLS; i++)
        add_symbol(r, table + i * size, (uint32_t)i);
    free(table);
    return r->count > 0;
}

static const struct elf_section *section_of_type(const struct elf_image *image, uint32_t type)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].type == type)
            return &image->sections[i];
    return NULL;
}

static void read_best(struct reader *r, const struct elf_image *image,
                      const struct elf_image *debug)
{
    const struct {
        const struct elf_image *image;
        uint32_t type;
    } tables[] = {{image, SHT_SYMTAB}, {debug, SHT_SYMTAB}, {image, SHT_DYNSYM}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        free((char *)r->names);
        r->names = NULL;
        if (tables[i].image == NULL)
            continue;
        r->image = tables[i].image;
        if (read_symbols(r, section_of_type(r->image, tables[i].type)))
            return;
    }
}

/* Ascending by preference: where two cover an address, the later one names it. */
static int compare_symbols(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static uint64_t last_address(const struct symbol *s, const struct symbol *end)
{
    uint64_t last = s->section_last;
    if (s->size > 0 && s->size - 1 <= last - s->address)
        return s->address + s->size - 1;
    for (const struct symbol *next = s + 1; s->size == 0 && next < end; next++)
        if (next->address > s->address)
            return next->address - 1 < last ? next->address - 1 : last;
    return last;
}

struct symbol_table *symbol_table_new(const struct elf_image *image, const struct elf_image *debug)
{
    struct symbol_table *table = mem_zalloc(1, sizeof *table);
    struct reader r = {.image = image};
    read_best(&r, image, debug);
    if (r.count > 0)
        qsort(r.symbols, r.count, sizeof *r.symbols, compare_symbols);
    struct interval *intervals = mem_alloc(r.count * sizeof *intervals);
    table->by_value = mem_alloc(r.count * sizeof *table->by_value);
    size_t kept = 0;
    for (size_t i = 0; i < r.count; i++) {
        const struct symbol *s = &r.symbols[i];
        if (i + 1 < r.count && s[1].address == s->address && s[1].size >= s->size)
            continue; /* an alias that a better one hides */
        table->by_value[kept] = s->name;
        intervals[kept] =
            (struct interval){s->address, last_address(s, r.symbols + r.count), (uint32_t)kept};
        kept++;
    }
    interval_map_build(&table->map, intervals, kept);
    table->names = (char *)r.names;
    free(intervals);
    free(r.symbols);
    return table;
}

void symbol_table_delete(struct symbol_table *table)
{
    if (table == NULL)
        return;
    interval_map_free(&table->map);
    free(table->by_value);
    free(table->names);
    free(table);
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
    uint32_t value = interval_map_find(&table->map, address);
    return value == INTERVAL_NONE ? NULL : table->by_value[value];
}

bool symbol_table_next(const struct symbol_table *table, uint64_t address,
                       struct symbol_range *range)
{
    const struct interval *pieces = table->map.pieces;
    size_t low = 0, high = table->map.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pieces[middle].last < address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == table->map.count)
        return false;
    range->begin = pieces[low].begin;
    range->last = pieces[low].last;
    range->name = table->by_value[pieces[low].value];
    return true;
}

bool symbol_value(const struct elf_image *image, const struct elf_image *debug, const char *name,
                  uint64_t *value)
{
    struct reader r = {.image = image, .sought = name};
    read_best(&r, image, debug);
    free((char *)r.names);
    *value = r.found;
    return r.count > 0;
}
