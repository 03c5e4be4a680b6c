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
#include "formats/elf/elf_sections.h"

enum { MAX_STUBS = 1 << 20, MAX_PLT = 16 << 20, MAX_NAME = 4096 };

/* The dynamic linker puts the address of a function into the SLOT. */
struct slot {
    uint64_t address, resolver;
    uint32_t name; /* number in the strings */
};

struct plt {
    const struct elf_file *file;
    struct strings *strings;
    struct slot *slots; /* ascending by address */
    size_t slot_count, slot_capacity;
    struct elf_stub *stubs;
    size_t count, capacity;
    bool overlap;
};

/* ---- slots ---- */

static bool is_jump(const struct elf_file *file, uint64_t type)
{
    return file->machine == EM_X86_64 ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
                                      : type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

/* A function that a resolver in the program chooses. */
static bool is_indirect(const struct elf_file *file, uint64_t type)
{
    return file->machine == EM_X86_64 ? type == R_X86_64_IRELATIVE : type == R_AARCH64_IRELATIVE;
}

static void add_slot(struct plt *p, const char *name, uint64_t address, uint64_t resolver)
{
    char *full = mem_printf("%.*s@plt", MAX_NAME, name);
    mem_reserve(&p->slots, &p->slot_capacity, p->slot_count + 1, sizeof *p->slots);
    p->slots[p->slot_count++] = (struct slot){address, resolver, strings_intern(p->strings, full)};
    free(full);
}

/* The relocations in section INDEX. */
static void read_slots(struct plt *p, size_t index)
{
    const struct elf_file *file = p->file;
    const struct elf_section *section = &file->sections[index];
    size_t limit = 0;
    GElf_Rela r;
    GElf_Sym symbol;
    char text[32];
    struct elf_name_budget budget;
    Elf_Data *symbols = section->link > 0 && section->link < file->section_count
                            ? elf_getdata(elf_getscn(file->elf, section->link), NULL)
                            : NULL;
    const char *names =
        symbols != NULL ? elf_strings(file, file->sections[section->link].link, &limit) : NULL;
    budget = elf_name_budget(limit);
    Elf_Data *data =
        section->size <= MAX_TABLE ? elf_getdata(elf_getscn(file->elf, index), NULL) : NULL;
    for (int i = 0; data != NULL && gelf_getrela(data, i, &r) != NULL; i++) {
        if (p->slot_count >= MAX_STUBS)
            return;
        uint64_t type = GELF_R_TYPE(r.r_info), number = GELF_R_SYM(r.r_info);
        if (is_indirect(file, type)) { /* as objdump calls it */
            snprintf(text, sizeof text, "*ABS*+0x%" PRIx64, (uint64_t)r.r_addend);
            add_slot(p, text, r.r_offset, (uint64_t)r.r_addend);
        } else if (is_jump(file, type) && symbols != NULL && number <= INT32_MAX &&
                   gelf_getsym(symbols, (int)number, &symbol) != NULL && symbol.st_name < limit &&
                   names[symbol.st_name] != '\0') {
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
    mem_reserve(&p->stubs, &p->capacity, p->count + 1, sizeof *p->stubs);
    p->stubs[p->count++] =
        (struct elf_stub){address, size, strings_get(p->strings, slot->name), slot->resolver};
}

/* [endbr64] [bnd] jmp *SLOT(%rip), and what pads it or asks the dynamic linker, in 16 bytes, or 8 in .plt.got. */
static void find_x86(struct plt *p, const struct elf_section *section, const uint8_t *code)
{
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    enum { STEP = 8, BND = 0xf2, MAX_STUB = 11 };
    for (uint64_t at = 0; at + STEP <= section->size; at += STEP) {
        uint8_t entry[MAX_STUB + 1] = {0};
        size_t skip = 0;
        memcpy(entry, code + at, section->size - at < MAX_STUB ? section->size - at : MAX_STUB);
        if (memcmp(entry, endbr, sizeof endbr) == 0)
            skip = sizeof endbr;
        skip += entry[skip] == BND;
        if (entry[skip] != 0xff || entry[skip + 1] != 0x25)
            continue;
        uint64_t address = section->address + at;
        uint64_t slot = address + skip + 6 + (uint64_t)(int32_t)get_u32(entry + skip + 2, false);
        bool is_short = skip == 0 && strcmp(section->name, ".plt.got") == 0;
        add_stub(p, address, is_short ? STEP : 2 * STEP, slot);
    }
}

/* [bti c] adrp x16, PAGE; ldr x17, [x16, #OFFSET]; add x16, x16, #OFFSET; [autia1716] br x17 [nop] */
static void find_aarch64(struct plt *p, const struct elf_section *section, const uint8_t *code)
{
    enum { WORD = 4, SHORT = 16, LONG = 24 };
    const uint32_t bti = 0xd503245f, nop = 0xd503201f, br = 0xd61f0220;
    for (uint64_t at = 0; at + SHORT <= section->size; at += WORD) {
        uint32_t adrp = get_u32(code + at, false), ldr = get_u32(code + at + WORD, false);
        if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
            continue;
        uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
        pages = (pages ^ 0x100000) - 0x100000; /* 21 bits, signed */
        uint64_t pc = section->address + at, begin = at, end = at + SHORT;
        if (at >= WORD && get_u32(code + at - WORD, false) == bti)
            begin -= WORD;
        while (end < section->size && end < begin + LONG && get_u32(code + end - WORD, false) != br)
            end += WORD;
        while (end + WORD <= section->size && end < begin + LONG &&
               get_u32(code + end, false) == nop)
            end += WORD;
        uint64_t page = (pc & ~UINT64_C(4095)) + (pages << 12);
        add_stub(p, section->address + begin, end - begin,
                 page + (uint64_t)(ldr >> 10 & 0xfff) * 8);
    }
}

/* The sections of stubs; .iplt is that of static programs under some linkers. */
static bool has_stubs(const struct elf_section *section)
{
    return strcmp(section->name, ".plt") == 0 || strcmp(section->name, ".plt.sec") == 0 ||
           strcmp(section->name, ".plt.got") == 0 || strcmp(section->name, ".iplt") == 0;
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

static void find_stubs(struct plt *p, const struct elf_section *section)
{
    const struct elf_file *file = p->file;
    uint64_t size = elf_section_size(file, section);
    if (size == 0 || size > MAX_PLT)
        return;
    uint8_t *code = mem_alloc(size);
    if (elf_section_read(file, section, code)) {
        if (file->machine == EM_X86_64)
            find_x86(p, section, code);
        else
            find_aarch64(p, section, code);
    }
    free(code);
}

static int compare_stubs(const void *left, const void *right)
{
    const struct elf_stub *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

struct elf_stub *elf_plt_read(const struct elf_file *file, struct strings *strings, size_t *count,
                              bool *overlap)
{
    enum { MAX_SECTIONS = 16 }; /* of either kind; programs have 1 to 3 */
    struct plt p = {.file = file, .strings = strings};
    size_t tables = 0, sections = 0;
    *count = 0;
    if (!file->is_64 || file->big_endian ||
        (file->machine != EM_X86_64 && file->machine != EM_AARCH64))
        return NULL;
    for (size_t i = 0; i < file->section_count && tables < MAX_SECTIONS; i++)
        if (file->sections[i].type == SHT_RELA && (file->sections[i].flags & SHF_ALLOC)) {
            read_slots(&p, i);
            tables++;
        }
    if (p.slot_count > 0)
        qsort(p.slots, p.slot_count, sizeof *p.slots, compare_slots);
    for (size_t i = 0; p.slot_count > 0 && i < file->section_count && sections < MAX_SECTIONS; i++)
        if (file->sections[i].type == SHT_PROGBITS && has_stubs(&file->sections[i])) {
            find_stubs(&p, &file->sections[i]);
            sections++;
        }
    if (p.count > 0)
        qsort(p.stubs, p.count, sizeof *p.stubs, compare_stubs);
    free(p.slots);
    *overlap |= p.overlap;
    *count = p.count;
    return p.stubs;
}
