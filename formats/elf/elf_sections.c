/* Contents of the sections of an ELF file, unpacked.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_sections.h"

#include <elf.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/memory.h"

/* Deflate cannot do better than 1032:1, and zstd no better than a block of 128 KB in 4 bytes.
 * Contents of more than MAX_UNPACKED bytes are not unpacked. */
#define MAX_UNPACKED (UINT64_C(4) << 30)
enum { BEST_DEFLATE = 1032, BEST_ZSTD = 1 << 15, GNU_HEADER = 12, COMPRESS_ZSTD = 2 };
enum { MORE_ROOM = 1024 }; /* several times the longest copy of deflate, 258 bytes */

/* How the contents of a section are compressed. */
struct packing {
    uint64_t header; /* size of the header before the contents [bytes]; 0: not packed */
    uint64_t size;   /* unpacked, according to the header; 0: packed by an unknown method */
    bool is_zstd;
};

/* Unpacks PACKED_SIZE bytes to exactly SIZE bytes. (elf_compress of libelf could do that, too, but
 * with zlib only; libdeflate is twice as fast.) */
static bool unpack_all(const struct packing *p, const uint8_t *packed, uint64_t packed_size,
                       uint8_t *to)
{
    const uint64_t size = p->size;
    if (p->is_zstd)
        return ZSTD_decompress(to, size, packed, packed_size) == size;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    bool ok = d != NULL && libdeflate_zlib_decompress(d, packed, packed_size, to, size, NULL) ==
                               LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    return ok;
}

static bool unpack_begin_zstd(const uint8_t *packed, uint64_t packed_size, uint8_t *to,
                              uint64_t size)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed, packed_size, 0};
    ZSTD_outBuffer out = {to, size, 0};
    bool goes_on = stream != NULL;
    while (goes_on && out.pos < size) {
        const size_t before = in.pos + out.pos;
        size_t result = ZSTD_decompressStream(stream, &out, &in);
        goes_on = !ZSTD_isError(result) && in.pos + out.pos > before;
    }
    ZSTD_freeDStream(stream);
    return out.pos == size;
}

/* libdeflate cannot stop early, but it writes in order, and stops at the end of the room, or at
 * most one copied string before it. This is not guaranteed: if nothing was written beyond the
 * wanted bytes, they count as missing. */
static bool unpack_begin_zlib(const uint8_t *packed, uint64_t packed_size, uint8_t *to,
                              uint64_t size)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    bool stopped = d != NULL &&
                   libdeflate_zlib_decompress(d, packed, packed_size, to, size + MORE_ROOM, NULL) ==
                       LIBDEFLATE_INSUFFICIENT_SPACE;
    bool written = false;
    libdeflate_free_decompressor(d);
    for (uint64_t i = size; i < size + MORE_ROOM; i++)
        written |= to[i] != 0;
    return stopped && written;
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

/*   .zdebug_*       "ZLIB", u64 size, big endian
 *   SHF_COMPRESSED  u32 type, [64 bits: u32 0,] word size, word alignment */
static struct packing packing_of(const struct elf_file *file, const struct elf_section *section)
{
    const bool big = file->big_endian;
    uint8_t head[sizeof(Elf64_Chdr)] = {0};
    struct packing p = {.header = is_gnu_packed(section) ? GNU_HEADER
                                  : file->is_64          ? sizeof(Elf64_Chdr)
                                                         : sizeof(Elf32_Chdr)};
    if (!is_gnu_packed(section) && !(section->flags & SHF_COMPRESSED))
        return (struct packing){.size = section->size};
    if (section->size < p.header || !elf_file_read(file, section->offset, head, p.header))
        return p;
    if (is_gnu_packed(section)) {
        p.size = memcmp(head, "ZLIB", 4) == 0 ? get_u64(head + 4, true) : 0;
        return p;
    }
    p.is_zstd = get_u32(head, big) == COMPRESS_ZSTD;
    if (p.is_zstd || get_u32(head, big) == ELFCOMPRESS_ZLIB)
        p.size = file->is_64 ? get_u64(head + 8, big) : get_u32(head + 4, big);
    return p;
}

uint64_t elf_section_size(const struct elf_file *file, const struct elf_section *section)
{
    struct packing p = packing_of(file, section);
    if (section->type == SHT_NOBITS || section->offset > file->size ||
        section->size > file->size - section->offset)
        return 0;
    bool possible = p.size <= MAX_UNPACKED &&
                    p.size / (p.is_zstd ? BEST_ZSTD : BEST_DEFLATE) <= section->size + 1;
    return p.header == 0 || possible ? p.size : 0;
}

/* Unpacks PACKED_SIZE bytes to TO: all of them, or only the first SIZE bytes of the contents. */
static bool unpack(const struct packing *p, const uint8_t *packed, uint64_t packed_size,
                   uint8_t *to, uint64_t size)
{
    if (p->size <= size || p->size - size <= MORE_ROOM)
        return unpack_all(p, packed, packed_size, to);
    return p->is_zstd ? unpack_begin_zstd(packed, packed_size, to, size)
                      : unpack_begin_zlib(packed, packed_size, to, size);
}

bool elf_section_read_begin(const struct elf_file *file, const struct elf_section *section,
                            uint8_t *to, uint64_t size)
{
    struct packing p = packing_of(file, section);
    if (elf_section_size(file, section) == 0)
        return false;
    if (p.header == 0)
        return elf_file_read(file, section->offset, to, p.size < size ? p.size : size);
    const uint64_t at = section->offset + p.header, packed_size = section->size - p.header;
    if (file->memory != NULL)
        return unpack(&p, file->memory + at, packed_size, to, size);
    uint8_t *packed = mem_alloc(packed_size);
    bool ok =
        elf_file_read(file, at, packed, packed_size) && unpack(&p, packed, packed_size, to, size);
    free(packed);
    return ok;
}

bool elf_section_read(const struct elf_file *file, const struct elf_section *section, uint8_t *to)
{
    return elf_section_read_begin(file, section, to, UINT64_MAX);
}

const uint8_t *elf_section_in_place(const struct elf_file *file, const struct elf_section *section)
{
    if (file->memory == NULL || packing_of(file, section).header != 0 ||
        elf_section_size(file, section) == 0)
        return NULL;
    return file->memory + section->offset;
}
