/* Functions of an ELF file by address.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_symbols.h"

#include <ctype.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/intern.h"
#include "base/interval_map.h"
#include "base/memory.h"
#include "base/search.h"
#include "formats/elf/elf_frames.h"
#include "formats/elf/elf_internal.h"
#include "formats/elf/elf_minidebug.h"
#include "formats/elf/elf_plt.h"
#include "formats/elf/elf_search.h"
#include "formats/elf/elf_sections.h"

struct sorted_symbol {
    struct elf_symbol symbol;
    uint64_t section_last; /* last address of its section */
    uint32_t rank;         /* place in the file's table */
    bool old;              /* a version that is not the default one: any other name is better */
    bool local;            /* local to the file that defines it */
};

struct elf_symbols {
    /* by the values of the map; those before FIRST are functions of the unwind tables */
    struct elf_symbol *items;
    size_t first;
    const char *file_name; /* borrowed from the file */
    struct interval_map map;
    struct strings *unversioned;    /* names without the version that the table has; NULL: none */
    struct elf_minidebug minidebug; /* has some of the names */
    const char *damage;
    bool overlap;
};

enum { MAX_FILE_NAME = 100, MAX_RESOLVER_NAME = 4096 };

/* Programs have a few dozen sections. */
enum { MAX_CODE_SECTIONS = 256 };

struct reader {
    const struct elf_file *image; /* the program */
    /* file with the symbol table: the program, or a file split off from it */
    const struct elf_file *file;
    const char *names;
    size_t names_limit;
    const char *object;            /* the source file of local symbols that follow; NULL: unknown */
    struct elf_name_budget budget; /* of one table */
    bool overlap;                  /* names exceeded the budget */
    struct sorted_symbol *symbols;
    size_t count, capacity;
    struct strings **unversioned; /* of the symbols */
    const char *sought;           /* only the symbol of this name counts; NULL: functions */
    uint64_t found;               /* its value */
};

/* Data among code counts, too: a table in .text is not part of the preceding function. */
static bool is_wanted(unsigned type)
{
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE || type == STT_OBJECT;
}

static bool has_room(struct reader *r, const char *name)
{
    bool fits = elf_name_fits(&r->budget, name);
    r->overlap |= !fits;
    return fits;
}

/* The section of code that contains SYMBOL; NULL: none. In the first ABI of 64-bit PowerPC, the
 * symbol of a function is that of a descriptor in .opd, which begins with the address of the code:
 * SYMBOL gets this address. */
static const struct elf_section *section_of(const struct reader *r, const GElf_Sym *from,
                                            struct elf_symbol *symbol)
{
    const struct elf_section *section = &r->file->sections[from->st_shndx];
    const struct elf_file *image = r->image;
    uint8_t code[8];
    if (section->flags & SHF_EXECINSTR)
        return section;
    if (r->file->machine != EM_PPC64 || strcmp(section->name, ".opd") != 0)
        return NULL;
    const struct elf_section *descriptors = elf_section_find(image, ".opd");
    uint64_t at = descriptors != NULL ? symbol->address - descriptors->address : UINT64_MAX;
    if (descriptors == NULL || at >= descriptors->size ||
        !elf_file_read(image, descriptors->offset + at, code, sizeof code))
        return NULL;
    symbol->address = get_u64(code, image->big_endian);
    for (size_t i = 0; i < image->section_count && i < MAX_CODE_SECTIONS; i++) {
        section = &image->sections[i];
        if ((section->flags & SHF_EXECINSTR) && symbol->address >= section->address &&
            symbol->address - section->address < section->size)
            return section;
    }
    return NULL;
}

/* Length of the version at the end of NAME, such as "@GLIBC_2.2.5" or "@@GLIBC_2.17"; 0: none.
 * "@plt" is not a version, because "memcpy@plt" is other code than memcpy. */
static size_t version_length(const char *name)
{
    const char *at = strchr(name, '@');
    if (at == NULL || at == name)
        return 0;
    const char *version = at + 1 + (at[1] == '@');
    bool plain = (version[0] >= 'A' && version[0] <= 'Z') || strncmp(version, "lib", 3) == 0;
    for (const char *c = version; *c != '\0'; c++)
        plain &= isalnum((unsigned char)*c) || *c == '_' || *c == '.' || *c == '-' || *c == '+';
    return plain ? strlen(at) : 0;
}

/* Removes the version from the name of a symbol. */
static void drop_version(struct reader *r, struct sorted_symbol *s)
{
    size_t length = strlen(s->symbol.name), version = version_length(s->symbol.name);
    if (version == 0)
        return;
    if (*r->unversioned == NULL)
        *r->unversioned = strings_new();
    s->old |= s->symbol.name[length - version + 1] != '@';
    s->symbol.name = strings_get(
        *r->unversioned, strings_intern_bytes(*r->unversioned, s->symbol.name, length - version));
}

static void add_symbol(struct reader *r, const GElf_Sym *from, uint32_t rank, bool old)
{
    unsigned type = GELF_ST_TYPE(from->st_info);
    if (from->st_shndx == SHN_UNDEF || from->st_name >= r->names_limit)
        return;
    const char *name = r->names + from->st_name;
    if (type == STT_FILE)
        r->object = name[0] != '\0' && has_room(r, name) ? name : NULL;
    if (r->sought != NULL) {
        if (strcmp(name, r->sought) == 0) {
            r->found = from->st_value;
            r->count++;
        }
        return;
    }
    if (!is_wanted(type) || from->st_shndx >= r->file->section_count || name[0] == '\0')
        return;
    bool local = GELF_ST_BIND(from->st_info) == STB_LOCAL;
    struct sorted_symbol s = {
        .symbol = {from->st_value, from->st_size, name, false, local, local ? r->object : NULL},
        .rank = rank,
        .old = old,
        .local = local};
    const struct elf_section *section = section_of(r, from, &s.symbol);
    if (section == NULL || section->size == 0)
        return;
    s.section_last = section->address + section->size - 1;
    if (r->file->machine == EM_ARM && (type == STT_FUNC || type == STT_GNU_IFUNC))
        s.symbol.address &= ~UINT64_C(1); /* Thumb */
    if (s.symbol.address < section->address || s.symbol.address > s.section_last ||
        elf_is_mapping_symbol(r->file, name) || !has_room(r, name))
        return;
    drop_version(r, &s);
    *MEM_APPEND(r->symbols, r->count, r->capacity) = s;
}

/* The versions of the symbols in section TABLE, NULL: there are none. */
static Elf_Data *versions_of(const struct elf_file *file, size_t table)
{
    for (size_t i = 0; i < file->section_count; i++)
        if (file->sections[i].type == SHT_GNU_versym && file->sections[i].link == table)
            return elf_table(file, i);
    return NULL;
}

/* Whether symbol NUMBER has a version other than the default, which newly linked programs do not use. */
static bool is_old_version(Elf_Data *versions, int number)
{
    enum { HIDDEN = 0x8000 };
    GElf_Versym version;
    return versions != NULL && gelf_getversym(versions, number, &version) != NULL &&
           (version & HIDDEN) != 0;
}

/* Reads the first table of TYPE; returns false if there is none or it has no functions. */
static bool read_table(struct reader *r, const struct elf_file *file, uint32_t type)
{
    struct elf_symbol_table table;
    GElf_Sym symbol;
    if (!elf_find_symbols(file, type, &table))
        return false;
    r->file = file;
    r->names = table.names;
    r->names_limit = table.limit;
    r->object = NULL;
    r->budget = elf_name_budget(r->names_limit);
    Elf_Data *versions = type == SHT_DYNSYM ? versions_of(file, table.index) : NULL;
    for (int i = 1; gelf_getsym(table.data, i, &symbol) != NULL; i++)
        add_symbol(r, &symbol, (uint32_t)i, is_old_version(versions, i));
    return r->count > 0;
}

/* Reads the best symbol table. Returns false if symbols were stripped, except those for dynamic
 * linking. */
static bool read_best(struct reader *r, const struct elf_file *file, const struct elf_file *debug)
{
    if (read_table(r, file, SHT_SYMTAB) || (debug != NULL && read_table(r, debug, SHT_SYMTAB)))
        return true;
    read_table(r, file, SHT_DYNSYM);
    return false;
}

/* Reads the symbols of .gnu_debugdata, which complement those for dynamic linking. */
static void read_minidebug(struct elf_symbols *symbols, struct reader *r,
                           const struct elf_file *file)
{
    if (elf_minidebug_open(&symbols->minidebug, file) != 0)
        symbols->damage = "damaged section .gnu_debugdata";
    else if (symbols->minidebug.file != NULL)
        read_table(r, symbols->minidebug.file, SHT_SYMTAB);
}

/* Compares two names of a function; negative if people use name B rather than A. Functions of libc
 * have several names: public ones have no leading underscores (write, not __write), and newer
 * standards add longer ones (strfromd, not strfromf32x). */
static int compare_names(const char *a, const char *b)
{
    size_t underscores_a = strspn(a, "_"), underscores_b = strspn(b, "_");
    size_t length_a = strlen(a), length_b = strlen(b);
    if (underscores_a != underscores_b)
        return underscores_a > underscores_b ? -1 : 1;
    if (length_a != length_b)
        return length_a > length_b ? -1 : 1;
    return strcmp(b, a);
}

/* Ascending by preference: if two symbols cover an address, the later one names it. */
static int compare_symbols(const void *left, const void *right)
{
    const struct sorted_symbol *a = left, *b = right;
    if (a->symbol.address != b->symbol.address)
        return a->symbol.address < b->symbol.address ? -1 : 1;
    if (a->symbol.size != b->symbol.size)
        return a->symbol.size < b->symbol.size ? -1 : 1;
    if (a->old != b->old)
        return a->old ? -1 : 1;
    if (a->local != b->local)
        return a->local ? -1 : 1;
    int by_name = compare_names(a->symbol.name, b->symbol.name);
    if (by_name != 0)
        return by_name;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The best name of the function that begins at ADDRESS, according to the first COUNT symbols; NULL:
 * none. */
static const char *name_at(const struct reader *r, size_t count, uint64_t address)
{
    size_t after = SEARCH_AFTER(r->symbols, count, symbol.address, address);
    return after > 0 && r->symbols[after - 1].symbol.address == address
               ? r->symbols[after - 1].symbol.name
               : NULL;
}

/* Sorts the symbols. The first SORTED are already in order, and the others are few. */
static void sort_appended(struct reader *r, size_t sorted)
{
    const size_t few = r->count - sorted;
    struct sorted_symbol *appended = mem_alloc(few * sizeof *appended);
    memcpy(appended, r->symbols + sorted, few * sizeof *appended);
    qsort(appended, few, sizeof *appended, compare_symbols);
    for (size_t left = few, to = r->count; left > 0; to--)
        if (sorted > 0 && compare_symbols(&r->symbols[sorted - 1], &appended[left - 1]) > 0)
            r->symbols[to - 1] = r->symbols[--sorted];
        else
            r->symbols[to - 1] = appended[--left];
    free(appended);
}

/* Adds the stubs that call functions of libraries to the sorted symbols. */
static void add_stubs(struct reader *r)
{
    const size_t sorted = r->count;
    size_t count;
    if (*r->unversioned == NULL)
        *r->unversioned = strings_new();
    struct elf_stub *stubs = elf_plt_read(r->image, *r->unversioned, &count, &r->overlap);
    for (size_t i = 0; i < count; i++) {
        struct sorted_symbol s = {
            .symbol = {.address = stubs[i].address, .size = stubs[i].size, .name = stubs[i].name},
            .section_last = stubs[i].address + stubs[i].size - 1};
        const char *resolver =
            stubs[i].resolver != 0 ? name_at(r, sorted, stubs[i].resolver) : NULL;
        if (resolver != NULL) {
            char *name = mem_printf("%.*s@plt", MAX_RESOLVER_NAME, resolver);
            s.symbol.name = strings_get(*r->unversioned, strings_intern(*r->unversioned, name));
            free(name);
        }
        *MEM_APPEND(r->symbols, r->count, r->capacity) = s;
    }
    if (count > 0)
        sort_appended(r, sorted);
    free(stubs);
}

/* The last address that a symbol without size at ADDRESS may cover according to the unwind tables. */
static uint64_t bound_of(const struct elf_frames *frames, uint64_t address)
{
    size_t next = elf_frames_until(frames, address);
    if (next > 0 && frames->items[next - 1].last >= address)
        return frames->items[next - 1].last;
    return next < frames->count ? frames->items[next].begin - 1 : UINT64_MAX;
}

static uint64_t last_address(const struct sorted_symbol *s, const struct sorted_symbol *end,
                             const struct elf_frames *frames)
{
    uint64_t last = s->section_last, address = s->symbol.address, size = s->symbol.size;
    if (size > 0)
        return size - 1 <= last - address ? address + size - 1 : last;
    uint64_t bound = bound_of(frames, address);
    last = bound < last ? bound : last;
    for (const struct sorted_symbol *next = s + 1; next < end; next++)
        if (next->symbol.address > address)
            return next->symbol.address - 1 < last ? next->symbol.address - 1 : last;
    return last;
}

/* Builds the result from symbols and bounds: SYMBOLS->items, and the addresses that each covers. */
struct listing {
    struct elf_symbols *symbols;
    struct interval *intervals;
    size_t count;
};

static void list(struct listing *l, const struct elf_symbol *symbol, uint64_t last)
{
    l->intervals[l->count] = (struct interval){symbol->address, last, (uint32_t)l->count};
    l->symbols->items[l->count++] = *symbol;
}

/* Lists the functions of the unwind tables that no symbol at the same address covers completely. */
static void list_frames(struct listing *l, const struct reader *r, const struct elf_frames *frames)
{
    const struct sorted_symbol *s = r->symbols, *end = r->count > 0 ? s + r->count : s;
    for (size_t i = 0; i < frames->count; i++) {
        const struct elf_bounds *b = &frames->items[i];
        struct elf_symbol symbol = {
            .address = b->begin, .size = b->last - b->begin + 1, .is_address = true};
        while (s < end && s->symbol.address < b->begin)
            s++;
        bool has_symbol = s < end && s->symbol.address == b->begin;
        while (has_symbol && s + 1 < end && s[1].symbol.address == b->begin)
            s++; /* the symbol that names it, as below */
        if (has_symbol && last_address(s, end, frames) >= b->last)
            continue;
        if (has_symbol) {
            symbol.name = s->symbol.name;
            symbol.is_address = false;
        }
        list(l, &symbol, b->last);
    }
}

static void list_symbols(struct listing *l, const struct reader *r, const struct elf_frames *frames)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct sorted_symbol *s = &r->symbols[i];
        if (i + 1 < r->count && s[1].symbol.address == s->symbol.address &&
            s[1].symbol.size >= s->symbol.size)
            continue; /* an alias, hidden by a better one */
        list(l, &s->symbol, last_address(s, r->symbols + r->count, frames));
    }
}

struct elf_symbols *elf_symbols_new(const struct elf_file *file, const struct elf_file *debug)
{
    struct elf_symbols *symbols = mem_zalloc(1, sizeof *symbols);
    struct reader r = {.image = file, .unversioned = &symbols->unversioned};
    struct elf_frames frames = elf_frames_read(file);
    symbols->damage = frames.damaged ? "damaged unwind tables" : NULL;
    if (!read_best(&r, file, debug))
        read_minidebug(symbols, &r, file);
    if (r.count > 0)
        qsort(r.symbols, r.count, sizeof *r.symbols, compare_symbols);
    add_stubs(&r);
    const size_t most = frames.count + r.count;
    struct listing l = {symbols, mem_alloc(most * sizeof *l.intervals), 0};
    symbols->items = mem_alloc(most * sizeof *symbols->items);
    list_frames(&l, &r, &frames);
    symbols->first = l.count;
    list_symbols(&l, &r, &frames);
    interval_map_build(&symbols->map, l.intervals, l.count);
    symbols->file_name = elf_base_name(file->path);
    symbols->overlap = r.overlap;
    elf_frames_free(&frames);
    free(r.symbols);
    free(l.intervals);
    return symbols;
}

void elf_symbols_delete(struct elf_symbols *symbols)
{
    if (symbols == NULL)
        return;
    for (size_t i = 0; i < symbols->first; i++)
        if (symbols->items[i].is_address)
            free((char *)symbols->items[i].name);
    elf_minidebug_free(&symbols->minidebug);
    interval_map_free(&symbols->map);
    strings_delete(symbols->unversioned);
    free(symbols->items);
    free(symbols);
}

bool elf_symbols_overlap(const struct elf_symbols *symbols)
{
    return symbols->overlap;
}

const char *elf_symbols_damage(const struct elf_symbols *symbols)
{
    return symbols->damage;
}

const struct elf_symbol *elf_symbols_find(struct elf_symbols *symbols, uint64_t address)
{
    uint32_t value = interval_map_find(&symbols->map, address);
    if (value == INTERVAL_NONE)
        return NULL;
    struct elf_symbol *symbol = &symbols->items[value];
    if (symbol->name == NULL) /* named on demand: most are never needed */
        symbol->name =
            mem_printf("%.*s!0x%" PRIx64, MAX_FILE_NAME, symbols->file_name, symbol->address);
    return symbol;
}

bool elf_symbols_cover(const struct elf_symbols *symbols, uint64_t address)
{
    return interval_map_find(&symbols->map, address) != INTERVAL_NONE;
}

bool elf_symbols_next(const struct elf_symbols *symbols, uint64_t address,
                      struct elf_symbol_range *range)
{
    const struct interval *piece = interval_map_next(&symbols->map, address);
    while (piece != NULL && symbols->items[piece->value].is_address)
        piece = piece + 1 < symbols->map.pieces + symbols->map.count ? piece + 1 : NULL;
    if (piece == NULL)
        return false;
    *range =
        (struct elf_symbol_range){piece->begin, piece->last, symbols->items[piece->value].name};
    return true;
}

bool elf_symbol_value(const struct elf_file *file, const struct elf_file *debug, const char *name,
                      uint64_t *value)
{
    struct reader r = {.image = file, .sought = name};
    read_best(&r, file, debug);
    *value = r.found;
    return r.count > 0;
}
