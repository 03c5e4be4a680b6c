/* Sections are unpacked completely or up to a given byte, whichever compression they have.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <elf.h>
#include <libdeflate.h>
#include <zstd.h>

#include "base/memory.h"
#include "formats/elf/elf_sections.h"

enum { SIZE = 300000, ROOM = 2 * SIZE, COMPRESSED_ZSTD = 2 };

/* A file with the section .debug_info, packed. */
struct image {
    Elf64_Ehdr header;
    Elf64_Shdr sections[3];
    char names[24];
    Elf64_Chdr packing;
    uint8_t packed[ROOM];
};

/* Text, numbers and zeros as in debug information: literals and copies of all lengths. */
static uint8_t *make_contents(void)
{
    uint8_t *contents = mem_zalloc(SIZE, 1);
    uint32_t state = 1;
    for (size_t i = 0; i < SIZE; i++) {
        state = state * 1664525 + 1013904223;
        const uint32_t kind = i / 997 % 4, random = state >> 24;
        if (kind == 0)
            contents[i] = (uint8_t)random;
        else if (kind == 1 || (kind == 2 && random > 9))
            contents[i] = contents[i > 5000 ? i - 4999 : 0];
        else
            contents[i] = kind == 3 ? 0 : (uint8_t)random;
    }
    return contents;
}

static size_t pack(uint32_t kind, const uint8_t *contents, uint8_t *to)
{
    if (kind == COMPRESSED_ZSTD)
        return ZSTD_compress(to, ROOM, contents, SIZE, 3);
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    size_t size = libdeflate_zlib_compress(c, contents, SIZE, to, ROOM);
    libdeflate_free_compressor(c);
    return size;
}

static struct image *make_image(uint32_t kind, const uint8_t *contents)
{
    struct image *image = mem_zalloc(1, sizeof *image);
    *image = (struct image){
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_EXEC,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_shoff = offsetof(struct image, sections),
                   .e_ehsize = sizeof image->header,
                   .e_shentsize = sizeof image->sections[0],
                   .e_shnum = 3,
                   .e_shstrndx = 2},
        .names = "\0.debug_info\0.shstrtab",
        .packing = {.ch_type = kind, .ch_size = SIZE, .ch_addralign = 1},
    };
    const size_t size = pack(kind, contents, image->packed);
    image->sections[1] = (Elf64_Shdr){.sh_name = 1,
                                      .sh_type = SHT_PROGBITS,
                                      .sh_flags = SHF_COMPRESSED,
                                      .sh_offset = offsetof(struct image, packing),
                                      .sh_size = sizeof image->packing + size};
    image->sections[2] = (Elf64_Shdr){.sh_name = 13,
                                      .sh_type = SHT_STRTAB,
                                      .sh_offset = offsetof(struct image, names),
                                      .sh_size = sizeof image->names};
    return image;
}

static void check_begins(struct check *check, const struct elf_file *file, const uint8_t *contents)
{
    const struct elf_section *section = elf_section_debug(file, "info");
    CHECK(section != NULL);
    CHECK_EQ(elf_section_size(file, section), SIZE);
    uint8_t *whole = mem_zalloc(SIZE, 1);
    CHECK(elf_section_read(file, section, whole));
    CHECK(memcmp(whole, contents, SIZE) == 0);
    for (uint64_t size = 1; size <= SIZE; size += size < 300 || SIZE - size < 2000 ? 17 : 1499) {
        uint8_t *begin = mem_zalloc(SIZE, 1);
        CHECK(elf_section_read_begin(file, section, begin, size));
        if (memcmp(begin, contents, size) != 0)
            CHECK_FAIL("the first %" PRIu64 " bytes differ", size);
        free(begin);
    }
    free(whole);
}

static void check_packing(struct check *check, uint32_t kind)
{
    struct error err = {0};
    uint8_t *contents = make_contents();
    struct image *image = make_image(kind, contents);
    struct elf_file *file =
        elf_file_from_memory((const uint8_t *)image, sizeof *image, "image", &err);
    CHECK_STR(err.text, "");
    check_begins(check, file, contents);
    if (check->why[0] != '\0')
        return;
    uint8_t *begin = mem_zalloc(SIZE, 1);
    memset(image->packed, 0xff, 100);
    CHECK(!elf_section_read_begin(file, elf_section_debug(file, "info"), begin, SIZE / 2));
    elf_file_close(file);
    free(begin);
    free(image);
    free(contents);
}

static void zlib(struct check *check)
{
    check_packing(check, ELFCOMPRESS_ZLIB);
}

static void zstd(struct check *check)
{
    check_packing(check, COMPRESSED_ZSTD);
}

CHECK_MAIN({"zlib", zlib}, {"zstd", zstd})
