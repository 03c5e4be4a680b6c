/* Functions of an ELF file by address.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_symbols.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval_map.h"
#include "base/memory.h"
#include "formats/elf/elf_internal.h"

struct sorted_symbol {
    struct elf_symbol symbol;
    uint64_t section_last; /* last address of its section */
    uint32_t rank;         /* place in the file's table */
};

struct elf_symbols {
    struct sorted_symbol *symbols; /* what the values of the map mean */
    struct interval_map map;
    bool overlap;
};

/* Linkers let a name end in another one; a name that begins at each byte of one of a megabyte is an attack. All names
 * longer than SHORT together may have as many bytes as the table of names, NAME_FACTOR times, and FREE_NAMES. */
enum { SHORT_NAME = 64, NAME_FACTOR = 4, FREE_NAMES = 64 * 1024 };

struct reader {
    const struct elf_file *file;
    const char *names;
    size_t names_limit;
    size_t names_left; /* of what the long names may have together [bytes] */
    bool overlap;      /* they would have had more */
    struct sorted_symbol *symbols;
    size_t count, capacity;
    const char *sought; /* only the symbol of this name counts; NULL: functions */
    uint64_t found;     /* its value */
};

/* $a $t $d $x (also "$x.1"): where ARM code changes its instruction set, not functions. */
static bool is_mapping_symbol(const struct elf_file *file, const char *name)
{
    return (file->machine == EM_ARM || file->machine == EM_AARCH64) && name[0] == '$' &&
           name[1] != '\0' && strchr("atdx", name[1]) != NULL &&
           (name[2] == '\0' || name[2] == '.');
}

/* Data counts too when it is among the code: a table in .text is not part of the function before.
 */
static bool is_wanted(unsigned type)
{
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE || type == STT_OBJECT;
}

/* Takes the length of NAME, which ends within the table, from what the names may have. */
static bool has_room(struct reader *r, const char *name)
{
    size_t length = strnlen(name, SHORT_NAME + r->names_left + 1);
    if (length <= SHORT_NAME)
        return true;
    r->overlap |= length > r->names_left;
    if (length > r->names_left)
        return false;
    r->names_left -= length;
    return true;
}

static void add_symbol(struct reader *r, const GElf_Sym *from, uint32_t rank)
{
    unsigned type = GELF_ST_TYPE(from->st_info);
    if (from->st_shndx == SHN_UNDEF || from->st_name >= r->names_limit)
        return;
    const char *name = r->names + from->st_name;
    if (r->sought != NULL) {
        if (strcmp(name, r->sought) == 0) {
            r->found = from->st_value;
            r->count++;
        }
        return;
    }
    if (!is_wanted(type) || from->st_shndx >= r->file->section_count || name[0] == '\0')
        return;
    const struct elf_section *section = &r->file->sections[from->st_shndx];
    if (!(section->flags & SHF_EXECINSTR) || section->size == 0)
        return;
    struct sorted_symbol s = {.symbol = {from->st_value, from->st_size, name},
                              .section_last = section->address + section->size - 1,
                              .rank = rank};
    if (r->file->machine == EM_ARM && type == STT_FUNC)
        s.symbol.address &= ~UINT64_C(1); /* Thumb */
    if (s.symbol.address < section->address || s.symbol.address > s.section_last ||
        is_mapping_symbol(r->file, name) || !has_room(r, name))
        return;
    mem_reserve(&r->symbols, &r->capacity, r->count + 1, sizeof *r->symbols);
    r->symbols[r->count++] = s;
}

/* Reads the first table of TYPE; false when it has nothing. */
static bool read_table(struct reader *r, const struct elf_file *file, uint32_t type)
{
    size_t index = 0;
    GElf_Sym symbol;
    while (index < file->section_count && file->sections[index].type != type)
        index++;
    if (index == file->section_count || file->sections[index].size > MAX_TABLE)
        return false;
    r->file = file;
    r->names = elf_strings(file, file->sections[index].link, &r->names_limit);
    r->names_left = NAME_FACTOR * r->names_limit + FREE_NAMES;
    Elf_Data *data = elf_getdata(elf_getscn(file->elf, index), NULL);
    if (data == NULL)
        elf_file_blame(file, file->sections[index].offset, file->sections[index].size);
    for (int i = 1; data != NULL && gelf_getsym(data, i, &symbol) != NULL; i++)
        add_symbol(r, &symbol, (uint32_t)i);
    return r->count > 0;
}

static void read_best(struct reader *r, const struct elf_file *file, const struct elf_file *debug)
{
    if (!read_table(r, file, SHT_SYMTAB) && (debug == NULL || !read_table(r, debug, SHT_SYMTAB)))
        read_table(r, file, SHT_DYNSYM);
}

/* Ascending by preference: where two cover an address, the later one names it. */
static int compare_symbols(const void *left, const void *right)
{
    const struct sorted_symbol *a = left, *b = right;
    if (a->symbol.address != b->symbol.address)
        return a->symbol.address < b->symbol.address ? -1 : 1;
    if (a->symbol.size != b->symbol.size)
        return a->symbol.size < b->symbol.size ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static uint64_t last_address(const struct sorted_symbol *s, const struct sorted_symbol *end)
{
    uint64_t last = s->section_last, address = s->symbol.address, size = s->symbol.size;
    if (size > 0 && size - 1 <= last - address)
        return address + size - 1;
    for (const struct sorted_symbol *next = s + 1; size == 0 && next < end; next++)
        if (next->symbol.address > address)
            return next->symbol.address - 1 < last ? next->symbol.address - 1 : last;
    return last;
}

struct elf_symbols *elf_symbols_new(const struct elf_file *file, const struct elf_file *debug)
{
    struct elf_symbols *symbols = mem_zalloc(1, sizeof *symbols);
    struct reader r = {0};
    size_t kept = 0;
    read_best(&r, file, debug);
    if (r.count > 0)
        qsort(r.symbols, r.count, sizeof *r.symbols, compare_symbols);
    struct interval *intervals = mem_alloc(r.count * sizeof *intervals);
    for (size_t i = 0; i < r.count; i++) {
        const struct sorted_symbol *s = &r.symbols[i];
        if (i + 1 < r.count && s[1].symbol.address == s->symbol.address &&
            s[1].symbol.size >= s->symbol.size)
            continue; /* an alias that a better one hides */
        intervals[kept] = (struct interval){s->symbol.address, last_address(s, r.symbols + r.count),
                                            (uint32_t)kept};
        r.symbols[kept++] = *s;
    }
    interval_map_build(&symbols->map, intervals, kept);
    symbols->symbols = r.symbols;
    symbols->overlap = r.overlap;
    free(intervals);
    return symbols;
}

void elf_symbols_delete(struct elf_symbols *symbols)
{
    if (symbols == NULL)
        return;
    interval_map_free(&symbols->map);
    free(symbols->symbols);
    free(symbols);
}

bool elf_symbols_overlap(const struct elf_symbols *symbols)
{
    return symbols->overlap;
}

const struct elf_symbol *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address)
{
    uint32_t value = interval_map_find(&symbols->map, address);
    return value == INTERVAL_NONE ? NULL : &symbols->symbols[value].symbol;
}

bool elf_symbols_next(const struct elf_symbols *symbols, uint64_t address,
                      struct elf_symbol_range *range)
{
    const struct interval *piece = interval_map_next(&symbols->map, address);
    if (piece == NULL)
        return false;
    *range = (struct elf_symbol_range){piece->begin, piece->last,
                                       symbols->symbols[piece->value].symbol.name};
    return true;
}

bool elf_symbol_value(const struct elf_file *file, const struct elf_file *debug, const char *name,
                      uint64_t *value)
{
    struct reader r = {.sought = name};
    read_best(&r, file, debug);
    *value = r.found;
    return r.count > 0;
}
