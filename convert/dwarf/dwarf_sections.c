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

/* .debug_aranges is missing: the units' own ranges say the same; .debug_frame, _loc, _loclists,
 * _macro, _types and the indexes are not needed for lines and functions. */
static const char *const wanted[DEBUG_SECTIONS] = {
    [DEBUG_INFO] = "info",
    [DEBUG_ABBREV] = "abbrev",
    [DEBUG_LINE] = "line",
    [DEBUG_STR] = "str",
    [DEBUG_LINE_STR] = "line_str",
    [DEBUG_RANGES] = "ranges",
    [DEBUG_RNGLISTS] = "rnglists",
    [DEBUG_ADDR] = "addr",
    [DEBUG_STR_OFFSETS] = "str_offsets",
};

struct debug_section {
    char name[24];
    const struct elf_section *section;
    const uint8_t *bytes; /* NULL: not loaded yet */
    uint64_t size;
    bool damaged;
};

struct dwarf_sections {
    const struct elf_file *file;
    struct debug_section sections[DEBUG_SECTIONS + 1]; /* [0] is ELF's empty one */
    struct debug_section *by_kind[DEBUG_SECTIONS];     /* NULL: missing */
    size_t count;
    Dwarf_Obj_Access_Interface interface;
    Dwarf_Obj_Access_Methods methods;
};

static void add_section(struct dwarf_sections *d, enum dwarf_section kind)
{
    const char *name = wanted[kind];
    struct debug_section *s = &d->sections[d->count];
    s->section = elf_section_debug(d->file, name);
    s->size = s->section != NULL ? elf_section_size(d->file, s->section) : 0;
    snprintf(s->name, sizeof s->name, ".debug_%s", name);
    if (s->size == 0)
        return;
    d->by_kind[kind] = s;
    d->count++;
}

static const uint8_t *load(struct dwarf_sections *d, struct debug_section *s)
{
    if (s->bytes != NULL || s->section == NULL || s->damaged)
        return s->bytes;
    s->bytes = elf_section_in_place(d->file, s->section);
    uint8_t *unpacked = s->bytes == NULL ? malloc(s->size) : NULL;
    if (unpacked != NULL && elf_section_read(d->file, s->section, unpacked))
        s->bytes = unpacked;
    else
        free(unpacked);
    s->damaged = s->bytes == NULL;
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

struct dwarf_span dwarf_sections_get(struct dwarf_sections *d, enum dwarf_section kind)
{
    struct debug_section *s = d->by_kind[kind];
    if (s == NULL || load(d, s) == NULL)
        return (struct dwarf_span){NULL, 0};
    return (struct dwarf_span){s->bytes, s->size};
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
    for (int i = 0; i < DEBUG_SECTIONS; i++)
        add_section(d, (enum dwarf_section)i);
    d->methods = (Dwarf_Obj_Access_Methods){section_info,  byte_order,   pointer_size, pointer_size,
                                            section_count, load_section, NULL};
    d->interface = (Dwarf_Obj_Access_Interface){d, &d->methods};
    return d;
}

Dwarf_Obj_Access_Interface *dwarf_sections_interface(struct dwarf_sections *d)
{
    return &d->interface;
}
