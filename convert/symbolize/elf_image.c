/* Headers of an ELF file or image: segments, sections, build-id.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"

enum {
    LARGEST_SECTION = 1 << 30,
    LARGEST_NAMES = 1 << 26,
    MOST_SECTIONS = 1 << 20,
    LARGEST_NOTE = 1 << 16
};

/* Numbers of the header that are needed once. */
struct header {
    uint64_t segments_at, sections_at;
    uint32_t segment_count, segment_size, section_count, section_size, names_index;
};

bool elf_image_read(const struct elf_image *image, uint64_t offset, void *to, uint64_t size)
{
    if (offset > image->size || size > image->size - offset)
        return false;
    if (image->memory != NULL) {
        memcpy(to, image->memory + offset, size);
        return true;
    }
    for (uint8_t *at = to; size > 0;) {
        ssize_t got = pread(image->fd, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return true;
}

static uint16_t u16(const struct elf_image *image, const uint8_t *p)
{
    return get_u16(p, image->big_endian);
}

static uint32_t u32(const struct elf_image *image, const uint8_t *p)
{
    return get_u32(p, image->big_endian);
}

/* A field as wide as an address: at offset OF32 of a 32-bit structure, OF64 of a 64-bit one. */
static uint64_t word(const struct elf_image *image, const uint8_t *p, size_t of32, size_t of64)
{
    return image->is_64 ? get_u64(p + of64, image->big_endian) : u32(image, p + of32);
}

static int bad(const struct elf_image *image, uint64_t offset, struct error *err, const char *text)
{
    return error_set(err, image->path, offset, "%s", text);
}

static int read_header(struct elf_image *image, struct header *h, struct error *err)
{
    uint8_t raw[64] = {0};
    if (!elf_image_read(image, 0, raw, 52) || memcmp(raw, ELFMAG, SELFMAG) != 0)
        return bad(image, 0, err, "not an ELF file");
    image->is_64 = raw[EI_CLASS] == ELFCLASS64;
    image->big_endian = raw[EI_DATA] == ELFDATA2MSB;
    if ((!image->is_64 && raw[EI_CLASS] != ELFCLASS32) ||
        (!image->big_endian && raw[EI_DATA] != ELFDATA2LSB))
        return bad(image, EI_CLASS, err, "ELF class or byte order unknown");
    if (image->is_64 && !elf_image_read(image, 0, raw, 64))
        return bad(image, 0, err, "ELF header cut short");
    image->type = u16(image, raw + 16);
    image->machine = u16(image, raw + 18);
    h->segments_at = word(image, raw, 28, 32);
    h->sections_at = word(image, raw, 32, 40);
    const uint8_t *counts = raw + (image->is_64 ? 54 : 42);
    h->segment_size = u16(image, counts);
    h->segment_count = u16(image, counts + 2);
    h->section_size = u16(image, counts + 4);
    h->section_count = u16(image, counts + 6);
    h->names_index = u16(image, counts + 8);
    return 0;
}

static struct elf_section decode_section(const struct elf_image *image, const uint8_t *p)
{
    return (struct elf_section){
        .name = "",
        .type = u32(image, p + 4),
        .flags = word(image, p, 8, 8),
        .address = word(image, p, 12, 16),
        .offset = word(image, p, 16, 24),
        .size = word(image, p, 20, 32),
        .link = u32(image, p + (image->is_64 ? 40 : 24)),
        .entry_size = word(image, p, 36, 56),
    };
}

/* COUNT entries of SIZE bytes at OFFSET as one block, caller frees; NULL when they are not there.
 */
static uint8_t *read_table(const struct elf_image *image, uint64_t offset, uint64_t count,
                           uint64_t size, uint64_t least)
{
    if (count == 0 || size < least || offset > image->size || count > (image->size - offset) / size)
        return NULL;
    uint8_t *table = mem_alloc(count * size);
    if (elf_image_read(image, offset, table, count * size))
        return table;
    free(table);
    return NULL;
}

/* Files with 0xff00 sections and more keep the real numbers in section 0. */
static void extend_counts(const struct elf_image *image, struct header *h)
{
    uint8_t *first = read_table(image, h->sections_at, 1, h->section_size, image->is_64 ? 64 : 40);
    if (first == NULL)
        return;
    struct elf_section zero = decode_section(image, first);
    if (h->section_count == 0)
        h->section_count = zero.size < MOST_SECTIONS ? (uint32_t)zero.size : 0;
    if (h->names_index == SHN_XINDEX)
        h->names_index = zero.link;
    if (h->segment_count == PN_XNUM)
        h->segment_count = u32(image, first + (image->is_64 ? 44 : 28));
    free(first);
}

static void name_sections(struct elf_image *image, const uint8_t *table, const struct header *h)
{
    if (h->names_index >= image->section_count)
        return;
    const struct elf_section *names = &image->sections[h->names_index];
    if (names->size > LARGEST_NAMES)
        return;
    image->section_names = (char *)elf_image_contents(image, names);
    if (image->section_names == NULL)
        return;
    for (size_t i = 0; i < image->section_count; i++) {
        uint32_t at = u32(image, table + i * h->section_size);
        if (at < names->size)
            image->sections[i].name = image->section_names + at;
    }
}

/* A file whose section headers are gone (sstrip) still has segments: not an error. */
static void read_sections(struct elf_image *image, const struct header *h)
{
    uint8_t *table = read_table(image, h->sections_at, h->section_count, h->section_size,
                                image->is_64 ? 64 : 40);
    if (h->sections_at == 0 || table == NULL) {
        free(table);
        return;
    }
    image->section_count = h->section_count;
    image->sections = mem_zalloc(h->section_count, sizeof *image->sections);
    for (size_t i = 0; i < image->section_count; i++)
        image->sections[i] = decode_section(image, table + i * h->section_size);
    name_sections(image, table, h);
    free(table);
}

/* Notes: u32 name size, u32 contents size, u32 type, name, contents; each padded to ALIGN. */
static bool build_id_in(struct elf_image *image, const uint8_t *p, uint64_t size, uint64_t align)
{
    uint64_t at = 0;
    while (size - at >= 12) {
        uint64_t name = u32(image, p + at), text = u32(image, p + at + 4);
        uint64_t text_at = at + 12 + ((name + align - 1) & ~(align - 1));
        if (text_at > size || text > size - text_at)
            return false;
        if (u32(image, p + at + 8) == NT_GNU_BUILD_ID && name == 4 &&
            memcmp(p + at + 12, "GNU", 4) == 0 && text > 0 && text * 2 < sizeof image->build_id) {
            for (uint64_t i = 0; i < text; i++) {
                image->build_id[2 * i] = "0123456789abcdef"[p[text_at + i] >> 4];
                image->build_id[2 * i + 1] = "0123456789abcdef"[p[text_at + i] & 15];
            }
            return true;
        }
        at = text_at + ((text + align - 1) & ~(align - 1));
        if (at > size)
            return false;
    }
    return false;
}

static bool read_note(struct elf_image *image, uint64_t offset, uint64_t size, uint64_t align)
{
    if (size > LARGEST_NOTE || image->build_id[0] != '\0')
        return false;
    uint8_t *note = read_table(image, offset, 1, size, 12);
    bool found = note != NULL && build_id_in(image, note, size, align == 8 ? 8 : 4);
    free(note);
    return found;
}

static int read_segments(struct elf_image *image, const struct header *h, struct error *err)
{
    if (h->segment_count == 0)
        return 0; /* a debug file may have none */
    uint8_t *table = read_table(image, h->segments_at, h->segment_count, h->segment_size,
                                image->is_64 ? 56 : 32);
    if (table == NULL)
        return error_set(
            err, image->path, h->segments_at,
            "program headers outside the file: %u of %u bytes each, file of %llu bytes",
            h->segment_count, h->segment_size, (unsigned long long)image->size);
    image->segments = mem_zalloc(h->segment_count, sizeof *image->segments);
    for (uint32_t i = 0; i < h->segment_count; i++) {
        const uint8_t *p = table + (size_t)i * h->segment_size;
        struct elf_segment s = {
            .offset = word(image, p, 4, 8),
            .address = word(image, p, 8, 16),
            .file_size = word(image, p, 16, 32),
            .memory_size = word(image, p, 20, 40),
            .executable = (u32(image, p + (image->is_64 ? 4 : 24)) & PF_X) != 0,
        };
        if (u32(image, p) == PT_LOAD)
            image->segments[image->segment_count++] = s;
        else if (u32(image, p) == PT_NOTE)
            read_note(image, s.offset, s.file_size, word(image, p, 28, 48));
    }
    free(table);
    return 0;
}

/* Debug files and kernel images keep the note only as a section. */
static void read_note_sections(struct elf_image *image)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].type == SHT_NOTE)
            read_note(image, image->sections[i].offset, image->sections[i].size, 4);
}

static struct elf_image *load(struct elf_image *image, struct error *err)
{
    struct header h = {0};
    if (read_header(image, &h, err) == 0) {
        extend_counts(image, &h);
        if (read_segments(image, &h, err) == 0) {
            read_sections(image, &h);
            read_note_sections(image);
            return image;
        }
    }
    elf_image_delete(image);
    return NULL;
}

struct elf_image *elf_image_open(const char *path, int *errnum, struct error *err)
{
    struct stat info;
    *errnum = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block */
    if (fd < 0 || fstat(fd, &info) != 0) {
        *errnum = errno;
        error_set_errno(err, path, errno, "cannot open");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        error_set(err, path, NO_OFFSET, "not a regular file");
        return NULL;
    }
    struct elf_image *image = mem_zalloc(1, sizeof *image);
    image->path = mem_strdup(path);
    image->fd = fd;
    image->size = (uint64_t)info.st_size;
    return load(image, err);
}

struct elf_image *elf_image_from_memory(const uint8_t *memory, size_t size, const char *label,
                                        struct error *err)
{
    struct elf_image *image = mem_zalloc(1, sizeof *image);
    image->path = mem_strdup(label);
    image->fd = -1;
    image->memory = memory;
    image->size = size;
    return load(image, err);
}

void elf_image_delete(struct elf_image *image)
{
    if (image == NULL)
        return;
    if (image->fd >= 0)
        close(image->fd);
    free(image->path);
    free(image->segments);
    free(image->sections);
    free(image->section_names);
    free(image);
}

const struct elf_section *elf_image_section(const struct elf_image *image, const char *name)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].type != SHT_NOBITS && strcmp(image->sections[i].name, name) == 0)
            return &image->sections[i];
    return NULL;
}

uint8_t *elf_image_contents(const struct elf_image *image, const struct elf_section *section)
{
    if (section->type == SHT_NOBITS || section->size > LARGEST_SECTION ||
        section->offset > image->size || section->size > image->size - section->offset)
        return NULL;
    uint8_t *bytes = mem_alloc(section->size + 1);
    bytes[section->size] = 0;
    if (elf_image_read(image, section->offset, bytes, section->size))
        return bytes;
    free(bytes);
    return NULL;
}
