/* All names of all functions of an ELF file.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_functions.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_internal.h"

struct list {
    struct elf_function *items;
    size_t count, capacity;
};

static bool is_code(const struct elf_file *file, uint64_t address)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const struct elf_segment *s = &file->segments[i];
        if (s->executable && address >= s->address && address - s->address < s->file_size)
            return true;
    }
    return false;
}

static void add(struct list *list, const struct elf_file *file, const char *name,
                const GElf_Sym *from)
{
    unsigned type = GELF_ST_TYPE(from->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || from->st_shndx == SHN_UNDEF ||
        name[0] == '\0' || !is_code(file, from->st_value))
        return;
    *MEM_APPEND(list->items, list->count, list->capacity) =
        (struct elf_function){from->st_value, from->st_size, name, type == STT_GNU_IFUNC};
}

static void read_table(struct list *list, const struct elf_file *file, const struct elf_file *from,
                       size_t index)
{
    size_t limit;
    GElf_Sym symbol;
    Elf_Data *data = elf_table(from, index);
    if (data == NULL)
        return;
    const char *names = elf_strings(from, from->sections[index].link, &limit);
    struct elf_name_budget budget = elf_name_budget(limit);
    for (int i = 1; gelf_getsym(data, i, &symbol) != NULL; i++)
        if (symbol.st_name < limit && elf_name_fits(&budget, names + symbol.st_name))
            add(list, file, names + symbol.st_name, &symbol);
}

static void read_tables(struct list *list, const struct elf_file *file, const struct elf_file *from)
{
    for (size_t i = 0; i < from->section_count; i++)
        if (from->sections[i].type == SHT_SYMTAB || from->sections[i].type == SHT_DYNSYM)
            read_table(list, file, from, i);
}

static int compare(const void *a, const void *b)
{
    const struct elf_function *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

struct elf_function *elf_functions_read(const struct elf_file *file, const struct elf_file *debug,
                                        size_t *count)
{
    struct list list = {0};
    read_tables(&list, file, file);
    if (debug != NULL)
        read_tables(&list, file, debug);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, compare);
    *count = 0;
    for (size_t i = 0; i < list.count; i++) {
        struct elf_function *last = *count > 0 ? &list.items[*count - 1] : NULL;
        if (last == NULL || last->address != list.items[i].address ||
            strcmp(last->name, list.items[i].name) != 0)
            list.items[(*count)++] = list.items[i];
        else
            last->size = list.items[i].size; /* the largest */
    }
    return list.items;
}
