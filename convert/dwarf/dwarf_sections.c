/* Debug sections of an ELF file for libdwarf.
 *
 * libdwarf 20210528 would read ELF and inflate by itself, but refuses sections that shrank to less
 * than a sixteenth (a legal line table of gcc -gz shrinks 300 times), looks at other files by
 * name, and trips over section groups. So it sees only the sections it needs, unpacked.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_sections.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_sections.h"

/* Without a NUL-named section 0, as in ELF. .debug_aranges is missing: the units' own ranges say
 * the same; .debug_frame, _loc, _macro, _types and the indexes are not needed for lines and
 * functions. */
static const char *const wanted[] = {"info",   "abbrev",   "line", "str",        "line_str",
                                     "ranges", "rnglists", "addr", "str_offsets"};
enum { WANTED = sizeof wanted / sizeof wanted[0] };

struct debug_section {
    char name[24];
    const struct elf_section *section;
    const uint8_t *bytes; /* NULL: not loaded yet */
    uint64_t size;
};

struct dwarf_sections {
    const struct elf_file *file;
    struct debug_section sections[WANTED + 1]; /* [0] is ELF's empty one */
    size_t count;
    Dwarf_Obj_Access_Interface interface;
    Dwarf_Obj_Access_Methods methods;
};

static void add_section(struct dwarf_sections *d, const char *name)
{
    struct debug_section *s = &d->sections[d->count];
    s->section = elf_section_debug(d->file, name);
    s->size = s->section != NULL ? elf_section_size(d->file, s->section) : 0;
    snprintf(s->name, sizeof s->name, ".debug_%s", name);
    d->count += s->size > 0;
}

static const uint8_t *load(struct dwarf_sections *d, struct debug_section *s)
{
    if (s->bytes != NULL || s->section == NULL)
        return s->bytes;
    s->bytes = elf_section_in_place(d->file, s->section);
    uint8_t *unpacked = s->bytes == NULL ? malloc(s->size) : NULL;
    if (unpacked != NULL && elf_section_read(d->file, s->section, unpacked))
        s->bytes = unpacked;
    else
        free(unpacked);
    return s->bytes;
}

static int section_info(void *object, Dwarf_Half index, Dwarf_Obj_Access_Section *to, int *error)
{
    const struct dwarf_sections *d = object;
    *error = 0;
    if (index >= d->count)
        return DW_DLV_NO_ENTRY;
    const struct debug_section *s = &d->sections[index];
    *to = (Dwarf_Obj_Access_Section){
        .name = s->name, .size = s->size, .type = index > 0 ? SHT_PROGBITS : SHT_NULL};
    return DW_DLV_OK;
}

static int load_section(void *object, Dwarf_Half index, Dwarf_Small **data, int *error)
{
    struct dwarf_sections *d = object;
    *error = 0;
    if (index >= d->count)
        return DW_DLV_NO_ENTRY;
    *data = (Dwarf_Small *)load(d, &d->sections[index]);
    if (*data != NULL)
        return DW_DLV_OK;
    *error = DW_DLE_ZLIB_DATA_ERROR;
    return DW_DLV_ERROR;
}

const uint8_t *dwarf_sections_find(struct dwarf_sections *d, const char *name, uint64_t *size)
{
    for (size_t i = 1; i < d->count; i++)
        if (strcmp(d->sections[i].name, name) == 0 && load(d, &d->sections[i]) != NULL) {
            *size = d->sections[i].size;
            return d->sections[i].bytes;
        }
    *size = 0;
    return NULL;
}

static Dwarf_Endianness byte_order(void *object)
{
    return ((struct dwarf_sections *)object)->file->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static Dwarf_Small pointer_size(void *object)
{
    return ((struct dwarf_sections *)object)->file->is_64 ? 8 : 4;
}

static Dwarf_Unsigned section_count(void *object)
{
    return ((struct dwarf_sections *)object)->count;
}

struct dwarf_sections *dwarf_sections_new(const struct elf_file *file)
{
    struct dwarf_sections *d = mem_zalloc(1, sizeof *d);
    d->file = file;
    d->count = 1;
    for (size_t i = 0; i < WANTED; i++)
        add_section(d, wanted[i]);
    d->methods = (Dwarf_Obj_Access_Methods){section_info,  byte_order,   pointer_size, pointer_size,
                                            section_count, load_section, NULL};
    d->interface = (Dwarf_Obj_Access_Interface){d, &d->methods};
    return d;
}

Dwarf_Obj_Access_Interface *dwarf_sections_interface(struct dwarf_sections *d)
{
    return &d->interface;
}
