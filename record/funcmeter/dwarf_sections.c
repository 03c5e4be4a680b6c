/* The debug sections of an ELF file for libdwarf.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/dwarf_sections.h"

#include <libdwarf/dwarf.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_sections.h"

/* Returns the standard name of a section, whose contents are always decompressed: ".zdebug_info",
 * the name from older compressing linkers, becomes ".debug_info". */
static const char *standard_name(const char *name)
{
    return strncmp(name, ".zdebug_", 8) == 0 ? mem_printf(".%s", name + 2) : name;
}

/* Other sections have no name and no contents. */
static int get_section(void *object, Dwarf_Half number, Dwarf_Obj_Access_Section *to, int *error)
{
    const struct elf_file *file = object;
    *error = 0;
    if (number >= file->section_count)
        return DW_DLV_NO_ENTRY;
    const struct elf_section *section = &file->sections[number];
    const char *name = standard_name(section->name);
    *to = (Dwarf_Obj_Access_Section){.name = ""};
    if (strncmp(name, ".debug_", 7) == 0)
        *to = (Dwarf_Obj_Access_Section){
            .name = name, .type = section->type, .size = elf_section_size(file, section)};
    return DW_DLV_OK;
}

static Dwarf_Endianness get_byte_order(void *object)
{
    const struct elf_file *file = object;
    return file->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static Dwarf_Small get_length_size(void *object)
{
    (void)object;
    return 4; /* units of 64-bit DWARF specify it themselves */
}

static Dwarf_Small get_pointer_size(void *object)
{
    const struct elf_file *file = object;
    return file->is_64 ? 8 : 4;
}

static Dwarf_Unsigned get_section_count(void *object)
{
    const struct elf_file *file = object;
    return file->section_count;
}

static int load_section(void *object, Dwarf_Half number, Dwarf_Small **bytes, int *error)
{
    const struct elf_file *file = object;
    *error = 0;
    if (number >= file->section_count)
        return DW_DLV_NO_ENTRY;
    const struct elf_section *section = &file->sections[number];
    uint64_t size = elf_section_size(file, section);
    if (size == 0)
        return DW_DLV_NO_ENTRY;
    *bytes = mem_alloc(size);
    if (elf_section_read(file, section, *bytes))
        return DW_DLV_OK;
    *error = DW_DLE_IOF;
    return DW_DLV_ERROR;
}

Dwarf_Obj_Access_Interface dwarf_sections_of(struct elf_file *file)
{
    static const Dwarf_Obj_Access_Methods methods = {.get_section_info = get_section,
                                                     .get_byte_order = get_byte_order,
                                                     .get_length_size = get_length_size,
                                                     .get_pointer_size = get_pointer_size,
                                                     .get_section_count = get_section_count,
                                                     .load_section = load_section};
    return (Dwarf_Obj_Access_Interface){.object = file, .methods = &methods};
}
