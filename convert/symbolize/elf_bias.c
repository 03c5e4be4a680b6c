/* Where an ELF file was loaded: from a mapping to the number between its addresses and the
 * target's.
 * SPDX-License-Identifier: MIT */
#include <elf.h>

#include "convert/symbolize/elf_image.h"

/* Sizes of a page that Linux targets have: x86 and most others, some ARM, PowerPC and ARM servers.
 */
static const uint64_t page_sizes[] = {4096, 16384, 65536};
enum { PAGE_SIZES = sizeof page_sizes / sizeof page_sizes[0] };

static uint64_t page_down(uint64_t value, uint64_t page)
{
    return value & ~(page - 1);
}

/* What mmap makes of a segment: whole pages from the one of its first byte to that of its last. */
static uint64_t mapped_size(const struct elf_segment *s, uint64_t bytes, uint64_t page)
{
    return page_down(s->address % page + bytes + page - 1, page);
}

/* The mapping's offset lies in the segment's pages, and the mapping ends in them too. */
static bool covers(const struct elf_segment *s, const struct elf_mapping *m, uint64_t page)
{
    uint64_t begin = page_down(s->offset, page);
    uint64_t size =
        mapped_size(s, s->memory_size > s->file_size ? s->memory_size : s->file_size, page);
    return m->offset >= begin && m->offset - begin < size &&
           (m->trusted || m->size <= size - (m->offset - begin));
}

static bool same_size(const struct elf_segment *s, const struct elf_mapping *m, uint64_t page)
{
    return m->size == mapped_size(s, s->file_size, page) ||
           m->size == mapped_size(s, s->memory_size, page);
}

/* An ET_EXEC file lies where it was linked: anywhere else the mapping is not of this file. */
static bool segment_bias(const struct elf_image *image, const struct elf_segment *s,
                         const struct elf_mapping *m, uint64_t page, uint64_t *bias)
{
    if (m->has_offset)
        *bias = m->address - (s->address - s->offset + m->offset);
    else
        *bias = m->address - page_down(s->address, page);
    return image->type != ET_EXEC || *bias == 0;
}

bool elf_image_bias(const struct elf_image *image, const struct elf_mapping *mapping,
                    uint64_t *bias)
{
    for (size_t p = 0; p < PAGE_SIZES; p++)
        for (size_t i = 0; i < image->segment_count; i++) {
            const struct elf_segment *s = &image->segments[i];
            if (!s->executable || s->memory_size == 0)
                continue;
            if ((mapping->has_offset ? covers(s, mapping, page_sizes[p])
                                     : same_size(s, mapping, page_sizes[p])) &&
                segment_bias(image, s, mapping, page_sizes[p], bias))
                return true;
        }
    /* The file that ran, mapped in a way that no rule foresees: its first code segment. */
    for (size_t i = 0; mapping->trusted && !mapping->has_offset && i < image->segment_count; i++)
        if (image->segments[i].executable)
            return segment_bias(image, &image->segments[i], mapping, page_sizes[0], bias);
    return false;
}

uint64_t elf_image_code_size(const struct elf_image *image)
{
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].executable)
            return mapped_size(&image->segments[i], image->segments[i].memory_size, page_sizes[0]);
    return 0;
}

bool elf_image_is_code(const struct elf_image *image, uint64_t address)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *s = &image->sections[i];
        if ((s->flags & SHF_EXECINSTR) && address >= s->address && address - s->address < s->size)
            return true;
    }
    for (size_t i = 0; image->section_count == 0 && i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (s->executable && address >= s->address && address - s->address < s->memory_size)
            return true;
    }
    return false;
}
