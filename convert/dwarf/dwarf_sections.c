/* Debug sections of an ELF file, unpacked.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_sections.h"

#include <stdlib.h>

#include "base/memory.h"
#include "formats/elf/elf_sections.h"

/* .debug_frame, _loc, _loclists, _macro, _types and the indexes are not needed for lines and functions. */
static const char *const wanted[DEBUG_SECTIONS] = {
    [DEBUG_ARANGES] = "aranges", [DEBUG_INFO] = "info",
    [DEBUG_ABBREV] = "abbrev",   [DEBUG_LINE] = "line",
    [DEBUG_STR] = "str",         [DEBUG_LINE_STR] = "line_str",
    [DEBUG_RANGES] = "ranges",   [DEBUG_RNGLISTS] = "rnglists",
    [DEBUG_ADDR] = "addr",       [DEBUG_STR_OFFSETS] = "str_offsets",
};

/* The same of split debug information. Lines and addresses are those of the program. */
static const char *const wanted_split[DEBUG_SECTIONS] = {
    [DEBUG_INFO] = "info.dwo",
    [DEBUG_ABBREV] = "abbrev.dwo",
    [DEBUG_STR] = "str.dwo",
    [DEBUG_RNGLISTS] = "rnglists.dwo",
    [DEBUG_STR_OFFSETS] = "str_offsets.dwo",
    [DEBUG_CU_INDEX] = "cu_index",
};

struct debug_section {
    const struct elf_section *section;
    const uint8_t *bytes; /* NULL: not loaded yet */
    uint64_t size;        /* that is wanted: all, or less */
    bool damaged;         /* or missing */
};

struct dwarf_sections {
    const struct elf_file *file;
    struct debug_section sections[DEBUG_SECTIONS];
};

static const uint8_t *load(const struct dwarf_sections *d, struct debug_section *s)
{
    if (s->bytes != NULL || s->damaged)
        return s->bytes;
    s->bytes = elf_section_in_place(d->file, s->section);
    uint8_t *unpacked = s->bytes == NULL ? calloc(elf_section_size(d->file, s->section), 1) : NULL;
    if (unpacked != NULL && elf_section_read_begin(d->file, s->section, unpacked, s->size))
        s->bytes = unpacked;
    else
        free(unpacked);
    s->damaged = s->bytes == NULL;
    if (s->bytes == unpacked)
        elf_file_unload(d->file, s->section->offset, s->section->size);
    return s->bytes;
}

struct dwarf_span dwarf_sections_get(struct dwarf_sections *d, enum dwarf_section kind)
{
    struct debug_section *s = &d->sections[kind];
    if (load(d, s) == NULL)
        return (struct dwarf_span){NULL, 0};
    return (struct dwarf_span){s->bytes, s->size};
}

uint64_t dwarf_sections_size(const struct dwarf_sections *d, enum dwarf_section kind)
{
    const struct elf_section *section = d->sections[kind].section;
    return section != NULL ? elf_section_size(d->file, section) : 0;
}

void dwarf_sections_limit(struct dwarf_sections *d, enum dwarf_section kind, uint64_t size)
{
    struct debug_section *s = &d->sections[kind];
    const uint64_t all = dwarf_sections_size(d, kind);
    s->size = size < all ? size : all;
    s->bytes = NULL;
    s->damaged = s->size == 0;
}

struct dwarf_sections *dwarf_sections_new(const struct elf_file *file, bool split)
{
    const char *const *names = split ? wanted_split : wanted;
    struct dwarf_sections *d = mem_zalloc(1, sizeof *d);
    d->file = file;
    for (size_t i = 0; i < DEBUG_SECTIONS; i++) {
        struct debug_section *s = &d->sections[i];
        s->section = names[i] != NULL ? elf_section_debug(file, names[i]) : NULL;
        s->size = dwarf_sections_size(d, (enum dwarf_section)i);
        s->damaged = s->size == 0;
    }
    return d;
}

void dwarf_sections_unpack(struct dwarf_sections *d, enum dwarf_section first,
                           enum dwarf_section last)
{
    for (size_t i = first; i <= last; i++)
        load(d, &d->sections[i]);
}
