/* The stubs through which a program calls functions of libraries.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_plt.h"

#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/search.h"
#include "formats/elf/elf_internal.h"
#include "formats/elf/elf_plt_code.h"
#include "formats/elf/elf_sections.h"

enum { MAX_STUBS = 1 << 20, MAX_PLT = 16 << 20, MAX_NAME = 4096 };

/* A place where the dynamic linker stores the address of a function. */
struct slot {
    uint64_t address, resolver;
    uint32_t name; /* number in the strings */
};

struct plt {
    const struct elf_file *file;
    const struct plt_machine *machine;
    struct strings *strings;
    struct slot *slots; /* ascending by address */
    size_t slot_count, slot_capacity;
    struct elf_stub *stubs;
    size_t count, capacity;
    bool overlap;
};

/* ---- slots ---- */

static void add_slot(struct plt *p, const char *name, uint64_t address, uint64_t resolver)
{
    char *full = mem_printf("%.*s@plt", MAX_NAME, name);
    *MEM_APPEND(p->slots, p->slot_count, p->slot_capacity) =
        (struct slot){address, resolver, strings_intern(p->strings, full)};
    free(full);
}

/* Reads relocation I of DATA. Unless HAS_ADDEND, the addend of a function chosen by a resolver is
 * in its slot. */
static bool read_relocation(const struct plt *p, Elf_Data *data, int i, bool has_addend,
                            GElf_Rela *to)
{
    GElf_Rel r;
    uint8_t raw[4];
    if (has_addend)
        return gelf_getrela(data, i, to) != NULL;
    if (gelf_getrel(data, i, &r) == NULL)
        return false;
    *to = (GElf_Rela){r.r_offset, r.r_info, 0};
    if (GELF_R_TYPE(r.r_info) == p->machine->indirect &&
        elf_file_read_code(p->file, r.r_offset, raw, sizeof raw) == sizeof raw)
        to->r_addend = get_u32(raw, p->file->big_endian);
    return true;
}

/* Reads the relocations in section INDEX. */
static void read_slots(struct plt *p, size_t index)
{
    const struct elf_file *file = p->file;
    const struct elf_section *section = &file->sections[index];
    size_t limit = 0;
    GElf_Rela r;
    GElf_Sym symbol;
    char text[32];
    struct elf_name_budget budget;
    Elf_Data *symbols = section->link > 0 ? elf_table(file, section->link) : NULL;
    const char *names =
        symbols != NULL ? elf_strings(file, file->sections[section->link].link, &limit) : NULL;
    budget = elf_name_budget(limit);
    Elf_Data *data = elf_table(file, index);
    const bool has_addend = section->type == SHT_RELA;
    for (int i = 0; data != NULL && read_relocation(p, data, i, has_addend, &r); i++) {
        if (p->slot_count >= MAX_STUBS)
            return;
        uint64_t type = GELF_R_TYPE(r.r_info), number = GELF_R_SYM(r.r_info);
        if (type == p->machine->indirect) { /* as objdump calls it */
            snprintf(text, sizeof text, "*ABS*+0x%" PRIx64, (uint64_t)r.r_addend);
            add_slot(p, text, r.r_offset, (uint64_t)r.r_addend);
        } else if ((type == p->machine->jump || type == p->machine->data) && symbols != NULL &&
                   number <= INT32_MAX && gelf_getsym(symbols, (int)number, &symbol) != NULL &&
                   symbol.st_name < limit && names[symbol.st_name] != '\0') {
            if (elf_name_fits(&budget, names + symbol.st_name))
                add_slot(p, names + symbol.st_name, r.r_offset, 0);
            else
                p->overlap = true;
        }
    }
}

static int compare_slots(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static const struct slot *find_slot(const struct plt *p, uint64_t address)
{
    size_t at = SEARCH_FROM(p->slots, p->slot_count, address, address);
    return at < p->slot_count && p->slots[at].address == address ? &p->slots[at] : NULL;
}

/* ---- stubs ---- */

static void add_stub(struct plt *p, uint64_t address, uint64_t size, uint64_t slot_address)
{
    const struct slot *slot = find_slot(p, slot_address);
    if (slot == NULL || p->count >= MAX_STUBS)
        return;
    *MEM_APPEND(p->stubs, p->count, p->capacity) =
        (struct elf_stub){address, size, strings_get(p->strings, slot->name), slot->resolver};
}

/* On MIPS, the symbol value of a library function is the address of its stub, if it has one. */
static void find_mips_stubs(struct plt *p, size_t index, const struct elf_section *stubs)
{
    enum { SIZE = 16 };
    const struct elf_file *file = p->file;
    const struct elf_section *section = &file->sections[index];
    size_t limit = 0;
    GElf_Sym symbol;
    Elf_Data *data = elf_table(file, index);
    const char *names = elf_strings(file, section->link, &limit);
    struct elf_name_budget budget = elf_name_budget(limit);
    for (int i = 0; data != NULL && gelf_getsym(data, i, &symbol) != NULL; i++) {
        if (symbol.st_shndx != SHN_UNDEF || symbol.st_value - stubs->address >= stubs->size ||
            symbol.st_name >= limit || p->count >= MAX_STUBS)
            continue;
        if (!elf_name_fits(&budget, names + symbol.st_name)) {
            p->overlap = true;
            continue;
        }
        add_slot(p, names + symbol.st_name, symbol.st_value, 0);
        *MEM_APPEND(p->stubs, p->count, p->capacity) = (struct elf_stub){
            symbol.st_value, SIZE, strings_get(p->strings, p->slots[--p->slot_count].name), 0};
    }
}

static void find_all_mips_stubs(struct plt *p)
{
    const struct elf_section *stubs = elf_section_find(p->file, ".MIPS.stubs");
    for (size_t i = 0; stubs != NULL && i < p->file->section_count; i++)
        if (p->file->sections[i].type == SHT_DYNSYM) {
            find_mips_stubs(p, i, stubs);
            return;
        }
}

/* Whether SECTION contains stubs. Some linkers call the section .iplt in static programs. */
static bool has_stubs(const struct elf_section *section)
{
    return strcmp(section->name, ".plt") == 0 || strcmp(section->name, ".plt.sec") == 0 ||
           strcmp(section->name, ".plt.got") == 0 || strcmp(section->name, ".iplt") == 0 ||
           strcmp(section->name, ".MIPS.stubs") == 0;
}

bool elf_plt_has(const struct elf_file *file, uint64_t address)
{
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *s = &file->sections[i];
        if (address >= s->address && address - s->address < s->size && has_stubs(s))
            return true;
    }
    return false;
}

/* The address of the table to which registers point. On i386, functions have a separate part of it,
 * unless they are bound early. */
static uint64_t find_got(const struct elf_file *file)
{
    const struct elf_section *found =
        file->machine == EM_386 ? elf_section_find(file, ".got.plt") : NULL;
    if (found == NULL)
        found = elf_section_find(file, ".got");
    return found != NULL ? found->address : 0;
}

static void find_stubs(struct plt *p, const struct elf_section *section, uint64_t got)
{
    const struct elf_file *file = p->file;
    uint64_t size = elf_section_size(file, section);
    if (size == 0 || size > MAX_PLT)
        return;
    uint8_t *bytes = mem_alloc(size);
    const struct plt_code code = {bytes, size, section->address, got, file->big_endian};
    struct plt_stub stub;
    if (elf_section_read(file, section, bytes))
        for (uint64_t at = 0; at < size; at += p->machine->step)
            if (p->machine->find(&code, at, &stub))
                add_stub(p, stub.address, stub.size, stub.slot);
    free(bytes);
}

static int compare_stubs(const void *left, const void *right)
{
    const struct elf_stub *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

struct elf_stub *elf_plt_read(const struct elf_file *file, struct strings *strings, size_t *count,
                              bool *overlap)
{
    enum { MAX_SECTIONS = 16 }; /* per kind; programs have 1 to 3 */
    struct plt p = {.file = file,
                    .machine = plt_machine_find(file->machine, file->big_endian),
                    .strings = strings};
    size_t tables = 0, sections = 0;
    *count = 0;
    if (p.machine == NULL)
        return NULL;
    const uint64_t got = find_got(file);
    for (size_t i = 0; i < file->section_count && tables < MAX_SECTIONS; i++)
        if ((file->sections[i].type == SHT_RELA || file->sections[i].type == SHT_REL) &&
            (file->sections[i].flags & SHF_ALLOC)) {
            read_slots(&p, i);
            tables++;
        }
    if (p.slot_count > 0)
        qsort(p.slots, p.slot_count, sizeof *p.slots, compare_slots);
    for (size_t i = 0; p.slot_count > 0 && i < file->section_count && sections < MAX_SECTIONS; i++)
        if (file->sections[i].type == SHT_PROGBITS &&
            (has_stubs(&file->sections[i]) ||
             (p.machine->in_text && (file->sections[i].flags & SHF_EXECINSTR)))) {
            find_stubs(&p, &file->sections[i], got);
            sections++;
        }
    if (file->machine == EM_MIPS)
        find_all_mips_stubs(&p);
    if (p.count > 0)
        qsort(p.stubs, p.count, sizeof *p.stubs, compare_stubs);
    free(p.slots);
    *overlap |= p.overlap;
    *count = p.count;
    return p.stubs;
}
