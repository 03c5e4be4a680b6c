/* Contents of the sections of an ELF file, unpacked.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_sections.h"

#include <elf.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

/* Deflate cannot do better than 1032:1; nothing larger than this is unpacked at all. */
#define MAX_UNPACKED (UINT64_C(4) << 30)
enum { BEST_RATIO = 1032, GNU_HEADER = 12 };

/* Unpacks PACKED_SIZE bytes to exactly SIZE: the one place that knows the library for it.
 * (elf_compress of libelf would do, but only with zlib; libdeflate is twice as fast.) */
static bool inflate_all(const uint8_t *packed, uint64_t packed_size, uint8_t *to, uint64_t size)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    bool ok = d != NULL && libdeflate_zlib_decompress(d, packed, packed_size, to, size, NULL) ==
                               LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    return ok;
}

const struct elf_section *elf_section_find(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < file->section_count; i++)
        if (file->sections[i].type != SHT_NOBITS && strcmp(file->sections[i].name, name) == 0)
            return &file->sections[i];
    return NULL;
}

static bool is_gnu_packed(const struct elf_section *section)
{
    return strncmp(section->name, ".zdebug_", 8) == 0;
}

const struct elf_section *elf_section_debug(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *s = &file->sections[i];
        const char *rest = strncmp(s->name, ".debug_", 7) == 0 ? s->name + 7
                           : is_gnu_packed(s)                  ? s->name + 8
                                                               : NULL;
        if (s->type != SHT_NOBITS && rest != NULL && strcmp(rest, name) == 0)
            return s;
    }
    return NULL;
}

bool elf_has_debug(const struct elf_file *file)
{
    return elf_section_debug(file, "info") != NULL;
}

/* Bytes before the packed data, 0 where it is not packed, and the size that they promise:
 *   .zdebug_*       "ZLIB", u64 size, big endian
 *   SHF_COMPRESSED  u32 type, [64 bits: u32 0,] word size, word alignment */
static uint64_t packed_header(const struct elf_file *file, const struct elf_section *section,
                              uint64_t *size)
{
    const bool big = file->big_endian;
    uint8_t head[sizeof(Elf64_Chdr)] = {0};
    uint64_t header = is_gnu_packed(section) ? GNU_HEADER
                      : file->is_64          ? sizeof(Elf64_Chdr)
                                             : sizeof(Elf32_Chdr);
    *size = 0;
    if (!is_gnu_packed(section) && !(section->flags & SHF_COMPRESSED)) {
        *size = section->size;
        return 0;
    }
    if (section->size < header || !elf_file_read(file, section->offset, head, header))
        return header;
    if (is_gnu_packed(section))
        *size = memcmp(head, "ZLIB", 4) == 0 ? get_u64(head + 4, true) : 0;
    else if (get_u32(head, big) == ELFCOMPRESS_ZLIB)
        *size = file->is_64 ? get_u64(head + 8, big) : get_u32(head + 4, big);
    return header;
}

uint64_t elf_section_size(const struct elf_file *file, const struct elf_section *section)
{
    uint64_t size, header = packed_header(file, section, &size);
    if (section->type == SHT_NOBITS || section->offset > file->size ||
        section->size > file->size - section->offset)
        return 0;
    bool possible = size <= MAX_UNPACKED && size / BEST_RATIO <= section->size + 1;
    return header == 0 || possible ? size : 0;
}

bool elf_section_read(const struct elf_file *file, const struct elf_section *section, uint8_t *to)
{
    uint64_t size, header = packed_header(file, section, &size);
    if (elf_section_size(file, section) == 0)
        return false;
    if (header == 0)
        return elf_file_read(file, section->offset, to, size);
    const uint64_t at = section->offset + header, packed_size = section->size - header;
    if (file->memory != NULL)
        return inflate_all(file->memory + at, packed_size, to, size);
    uint8_t *packed = mem_alloc(packed_size);
    bool ok =
        elf_file_read(file, at, packed, packed_size) && inflate_all(packed, packed_size, to, size);
    free(packed);
    return ok;
}

const uint8_t *elf_section_in_place(const struct elf_file *file, const struct elf_section *section)
{
    uint64_t size;
    if (file->memory == NULL || packed_header(file, section, &size) != 0 ||
        elf_section_size(file, section) == 0)
        return NULL;
    return file->memory + section->offset;
}
