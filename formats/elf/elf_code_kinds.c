/* Determines which bytes of code are instructions, of which set, and which are data.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_code_kinds.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "formats/elf/elf_internal.h"
#include "formats/elf/elf_sections.h"

struct mark {
    uint64_t address;
    enum elf_code_kind kind;
    bool maps; /* from a mapping symbol, which is more precise than a function */
};

struct elf_code_kinds {
    struct mark *marks; /* in ascending order, one for each address */
    size_t count, capacity;
};

bool elf_is_mapping_symbol(const struct elf_file *file, const char *name)
{
    if (file->machine == EM_RISCV)
        return name[0] == '$' &&
               (name[1] == 'x' || (name[1] == 'd' && strchr(".", name[2]) != NULL));
    return (file->machine == EM_ARM || file->machine == EM_AARCH64) && name[0] == '$' &&
           name[1] != '\0' && strchr("atdx", name[1]) != NULL &&
           (name[2] == '\0' || name[2] == '.');
}

static void add_symbol(struct elf_code_kinds *kinds, const struct elf_file *file,
                       const GElf_Sym *symbol, const char *name)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    struct mark mark = {.address = symbol->st_value};
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= file->section_count ||
        (file->sections[symbol->st_shndx].flags & SHF_EXECINSTR) == 0)
        return;
    if (elf_is_mapping_symbol(file, name)) {
        mark.maps = true;
        mark.kind = name[1] == 't' ? ELF_CODE_THUMB : name[1] == 'd' ? ELF_CODE_DATA : ELF_CODE;
    } else if (function && file->machine == EM_ARM) {
        mark.kind = (mark.address & 1) != 0 ? ELF_CODE_THUMB : ELF_CODE;
        mark.address &= ~UINT64_C(1);
    } else {
        return;
    }
    *MEM_APPEND(kinds->marks, kinds->count, kinds->capacity) = mark;
}

/* Reads the first table of TYPE; returns false if there is none or it has no marks. */
static bool read_table(struct elf_code_kinds *kinds, const struct elf_file *file, uint32_t type)
{
    size_t before = kinds->count;
    struct elf_symbol_table table;
    GElf_Sym symbol;
    if (!elf_find_symbols(file, type, &table))
        return false;
    for (int i = 1; gelf_getsym(table.data, i, &symbol) != NULL; i++)
        if (symbol.st_name < table.limit)
            add_symbol(kinds, file, &symbol, table.names + symbol.st_name);
    return kinds->count > before;
}

static int compare_marks(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->maps != b->maps)
        return a->maps ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

struct elf_code_kinds *elf_code_kinds_new(const struct elf_file *file, const struct elf_file *debug)
{
    struct elf_code_kinds *kinds = mem_zalloc(1, sizeof *kinds);
    size_t kept = 0;
    if (file->machine != EM_ARM && file->machine != EM_AARCH64)
        return kinds;
    if (!read_table(kinds, file, SHT_SYMTAB) && debug != NULL)
        read_table(kinds, debug, SHT_SYMTAB);
    read_table(kinds, file, SHT_DYNSYM);
    if (kinds->count > 0)
        qsort(kinds->marks, kinds->count, sizeof *kinds->marks, compare_marks);
    for (size_t i = 0; i < kinds->count; i++)
        if (kept == 0 || kinds->marks[kept - 1].address != kinds->marks[i].address)
            kinds->marks[kept++] = kinds->marks[i];
    kinds->count = kept;
    return kinds;
}

void elf_code_kinds_delete(struct elf_code_kinds *kinds)
{
    if (kinds != NULL)
        free(kinds->marks);
    free(kinds);
}

enum elf_code_kind elf_code_kind_at(const struct elf_code_kinds *kinds, uint64_t address,
                                    uint64_t *until)
{
    size_t after = SEARCH_AFTER(kinds->marks, kinds->count, address, address);
    *until = after < kinds->count ? kinds->marks[after].address : UINT64_MAX;
    return after > 0 ? kinds->marks[after - 1].kind : ELF_CODE;
}
