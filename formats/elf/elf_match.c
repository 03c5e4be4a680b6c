/* Checks whether a file is the one that ran, and locates a mapping in it.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_match.h"

#include <elf.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_content.h"
#include "formats/elf/elf_sections.h"

/* Page sizes of Linux targets: x86 and most others, some ARM, PowerPC and ARM servers. With 1, a
 * segment is only its own bytes. */
static const uint64_t page_sizes[] = {1, 4096, 16384, 65536};
enum { PAGE_SIZES = sizeof page_sizes / sizeof page_sizes[0], CRC_STEP = 1 << 16 };

/* ---- segments and pages ---- */

static uint64_t page_down(uint64_t value, uint64_t page)
{
    return value & ~(page - 1);
}

/* The size of the range that mmap maps for a segment: whole pages, from the page of its first byte
 * to the page of its last. */
static uint64_t mapped_size(const struct elf_segment *s, uint64_t bytes, uint64_t page)
{
    return page_down(s->address % page + bytes + page - 1, page);
}

/* The bytes from OFFSET to the end of the pages of S; 0: OFFSET is not in them. */
static uint64_t rest_of(const struct elf_segment *s, uint64_t offset, uint64_t page)
{
    uint64_t begin = page_down(s->offset, page);
    uint64_t size =
        mapped_size(s, s->memory_size > s->file_size ? s->memory_size : s->file_size, page);
    return offset >= begin && offset - begin < size ? size - (offset - begin) : 0;
}

static bool has_size(const struct elf_segment *s, uint64_t size, uint64_t page)
{
    return size == mapped_size(s, s->file_size, page) ||
           size == mapped_size(s, s->memory_size, page);
}

static bool is_code(const struct elf_segment *s)
{
    return s->executable && s->memory_size > 0;
}

/* The segment that contains the byte at OFFSET, else one that contains its page; code before data; or NULL. */
static const struct elf_segment *segment_at(const struct elf_file *file, uint64_t offset)
{
    for (size_t p = 0; p < PAGE_SIZES; p++)
        for (int data = 0; data < 2; data++)
            for (size_t i = 0; i < file->segment_count; i++) {
                const struct elf_segment *s = &file->segments[i];
                if (is_code(s) == (data == 0) && rest_of(s, offset, page_sizes[p]) > 0)
                    return s;
            }
    return NULL;
}

/* Places M in S: M shows S from its offset, or else from the page in which S begins. */
static void place_in(struct elf_mapping *m, const struct elf_segment *s, uint64_t page)
{
    m->start = m->has_offset ? m->offset : s->offset - (s->address - page_down(s->address, page));
    m->bias = m->address - (s->address - s->offset + m->start);
}

/* ---- the rule ---- */

bool elf_has_build_id(const struct elf_file *file, const char *id)
{
    return id != NULL && id[0] != '\0' && strcmp(file->build_id, id) == 0;
}

/* For a file that may not be the one that ran: the mapping must fit in a segment and, for a program
 * that cannot be moved (ET_EXEC), be at the address for which it was linked. EXACTLY: the mapping
 * must be a whole segment. */
static bool place_by_size(const struct elf_file *file, struct elf_mapping *m, bool exactly)
{
    for (size_t p = 1; p < PAGE_SIZES; p++)
        for (size_t i = 0; i < file->segment_count; i++) {
            const struct elf_segment *s = &file->segments[i];
            const uint64_t page = page_sizes[p], rest = rest_of(s, m->offset, page);
            bool fits = has_size(s, m->size, page);
            if (m->has_offset)
                fits = exactly ? fits && m->offset == page_down(s->offset, page)
                               : rest > 0 && m->size <= rest;
            if (!fits || !is_code(s))
                continue;
            place_in(m, s, page);
            if (file->type != ET_EXEC || m->bias == 0)
                return true;
        }
    return false;
}

/* For the file that ran, wherever its bytes are mapped. Without an offset, the size identifies the
 * segment; failing that, the first segment of code is assumed. */
static bool place_trusted(const struct elf_file *file, struct elf_mapping *m)
{
    const struct elf_segment *found = m->has_offset ? segment_at(file, m->offset) : NULL;
    if (!m->has_offset && place_by_size(file, m, false))
        return true;
    for (size_t i = 0; i < file->segment_count && found == NULL && !m->has_offset; i++)
        if (is_code(&file->segments[i]))
            found = &file->segments[i];
    if (found != NULL)
        place_in(m, found, page_sizes[1]);
    return found != NULL;
}

static uint64_t code_size(const struct elf_file *file)
{
    uint64_t size = 0;
    for (size_t i = 0; i < file->segment_count && size == 0; i++)
        if (is_code(&file->segments[i]))
            size = mapped_size(&file->segments[i], file->segments[i].memory_size, page_sizes[1]);
    return size;
}

/* Matches the content of FILE with the recorded one. */
static int match_content(const struct elf_file *file, struct elf_mapping *m, struct error *err)
{
    char id[ELF_CONTENT_ID];
    elf_content_id(file, id);
    if (strcmp(id, m->build_id) != 0)
        return error_set(err, file->path, NO_OFFSET,
                         "not the file that ran: its code is '%s', expected '%s'", id, m->build_id);
    if (place_trusted(file, m))
        return 0;
    return error_set(err, file->path, NO_OFFSET, "contains no code that could be mapped there");
}

int elf_match(const struct elf_file *file, struct elf_mapping *m, struct error *err)
{
    if (elf_is_content_id(m->build_id) && !m->is_image)
        return match_content(file, m, err);
    bool mine = file->build_id[0] != '\0', theirs = m->build_id != NULL && m->build_id[0] != '\0';
    /* If only one of file and mapping has a build-id, the file is most likely a different one. */
    bool exactly = mine != theirs && (theirs || m->size > 0);
    bool same = m->is_image || elf_has_build_id(file, m->build_id);
    if (mine && theirs && !same)
        return error_set(err, file->path, NO_OFFSET,
                         "not the file that ran: its build-id is %s, expected %s", file->build_id,
                         m->build_id);
    if (same ? place_trusted(file, m) : place_by_size(file, m, exactly))
        return 0;
    if (same)
        return error_set(err, file->path, NO_OFFSET, "contains no code that could be mapped there");
    if (theirs)
        return error_set(err, file->path, NO_OFFSET,
                         "not the file that ran: it has no build-id, expected %s", m->build_id);
    return error_set(err, file->path, NO_OFFSET,
                     "not the file that ran: its code has %" PRIu64 " bytes, the mapping %" PRIu64,
                     code_size(file), m->size);
}

uint64_t elf_mapping_address(const struct elf_file *file, const struct elf_mapping *m, uint64_t pc)
{
    uint64_t offset = pc - m->address + m->offset;
    const struct elf_segment *s = m->has_offset ? segment_at(file, offset) : NULL;
    return s != NULL ? s->address - s->offset + offset : pc - m->bias;
}

int elf_match_layout(const struct elf_file *file, bool is_64, bool big_endian, struct error *err)
{
    if (file->is_64 == is_64 && file->big_endian == big_endian)
        return 0;
    return error_set(err, file->path, NO_OFFSET,
                     "not the program that ran: %d-bit %s-endian, expected %d-bit %s-endian",
                     file->is_64 ? 64 : 32, file->big_endian ? "big" : "little", is_64 ? 64 : 32,
                     big_endian ? "big" : "little");
}

/* ---- debug files ---- */

/* The CRC-32 of all of the file, read in steps because such files may have gigabytes. Returns false
 * if it cannot be read. */
static bool crc_of(const struct elf_file *file, uint32_t *sum)
{
    uint8_t *step = mem_alloc(CRC_STEP);
    uint32_t crc = 0;
    bool whole = true;
    for (uint64_t at = 0; whole && at < file->size; at += CRC_STEP) {
        uint64_t size = file->size - at < CRC_STEP ? file->size - at : CRC_STEP;
        whole = elf_file_read(file, at, step, size);
        crc = libdeflate_crc32(crc, step, whole ? size : 0);
    }
    free(step);
    *sum = crc;
    return whole;
}

static const char install[] = "install the debug file of this build";

bool elf_match_debug(const struct elf_file *file, const struct elf_file *debug, const uint32_t *crc,
                     struct error *err)
{
    const char *mine = file->build_id, *theirs = debug->build_id;
    uint32_t found = 0;
    if (debug->machine != file->machine || debug->is_64 != file->is_64 ||
        debug->big_endian != file->big_endian)
        return false;
    if (mine[0] != '\0' && theirs[0] != '\0' && !elf_has_build_id(debug, mine)) {
        error_set(err, debug->path, NO_OFFSET,
                  "of another build: its build-id is %s, expected %s (%s)", theirs, mine, install);
        return false;
    }
    if (crc == NULL || (mine[0] != '\0' && theirs[0] != '\0'))
        return true;
    if (!crc_of(debug, &found))
        return false;
    if (found != *crc)
        error_set(err, debug->path, NO_OFFSET,
                  "of another build: its CRC-32 is %08" PRIx32 ", .gnu_debuglink expects %08" PRIx32
                  " (%s)",
                  found, *crc, install);
    return found == *crc;
}
