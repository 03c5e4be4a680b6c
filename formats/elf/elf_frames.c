/* The bounds of functions, from the unwind tables that stripped files keep.
 *
 *   .eh_frame      records: u32 length, then
 *     CIE          u32 0, u8 version, augmentation "zR...", [version 4: 2 bytes,] uleb and sleb alignments, u8 or uleb
 *                  register, uleb length of the augmentation data: 'R' is the encoding of addresses
 *     FDE          u32 distance from its CIE to this word, begin, size, ...
 *   .debug_frame   the same in debug information, for programs without .eh_frame: a CIE has the word
 *                  0xffffffff, an FDE the offset of its CIE; addresses are absolute
 *   .ARM.exidx     pairs of words: where the function begins, relative to the word, in 31 bits; how to unwind it
 *
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_frames.h"

#include <elf.h>
#include <stdlib.h>

#include "base/interval_map.h"
#include "base/memory.h"
#include "base/search.h"
#include "formats/elf/dwarf_bytes.h"
#include "formats/elf/elf_sections.h"

/* In the largest programs, these tables have 20 MB. The head of a CIE has a few bytes; the limit
 * bounds the cost of each FDE that refers to it. */
enum { MAX_TABLE = 64 << 20, MAX_CIE = 128, EXIDX_ENTRY = 8 };

/* The encoding of an address: DW_EH_PE_... */
enum {
    ENCODED_FORMAT = 0x0f,
    ENCODED_BASE = 0x70,
    ENCODED_PCREL = 0x10,
    ENCODED_SIGNED = 0x08,
    ENCODED_OMIT = 0xff,
    ENCODED_UNKNOWN = -1
};

struct reader {
    const struct elf_file *file;
    struct dwarf_span span;
    uint64_t address; /* of the span */
    bool is_debug;    /* .debug_frame */
    /* .eh_frame: a record with length 0 is the end; elsewhere, it separates two object files */
    bool ends_with_zero;
    uint64_t cie; /* offset of the last one ... */
    int encoding; /* ... and how its FDEs encode addresses */
    struct elf_frames *frames;
    size_t capacity;
};

static void add(struct reader *r, uint64_t begin, uint64_t last)
{
    struct elf_frames *f = r->frames;
    *MEM_APPEND(f->items, f->count, r->capacity) = (struct elf_bounds){begin, last};
}

/* ---- .eh_frame ---- */

/* Reads a number in FORMAT, extended to 64 bits. */
static uint64_t read_format(struct dwarf_bytes *b, int format, bool is_64)
{
    static const uint8_t sizes[] = {0, 0, 2, 4, 8};
    const int kind = format & 7;
    if (kind == 1)
        return format & ENCODED_SIGNED ? (uint64_t)dwarf_sleb(b) : dwarf_uleb(b);
    if (kind > 4) {
        b->bad = true;
        return 0;
    }
    unsigned size = kind > 0 ? sizes[kind] : is_64 ? 8 : 4;
    uint64_t value = dwarf_uint(b, size), sign = UINT64_C(1) << (8 * size - 1);
    return (format & ENCODED_SIGNED) && size < 8 ? (value ^ sign) - sign : value;
}

/* Reads an address at B in R, encoded according to ENCODING. */
static uint64_t read_address(const struct reader *r, struct dwarf_bytes *b, int encoding)
{
    const bool is_64 = r->file->is_64;
    uint64_t place = r->address + (uint64_t)(b->at - r->span.data);
    uint64_t value = read_format(b, encoding & ENCODED_FORMAT, is_64);
    if ((encoding & ENCODED_BASE) == ENCODED_PCREL)
        value += place;
    return is_64 ? value : (uint32_t)value;
}

/* Addresses may be absolute or relative to their own position; compilers use other bases only in
 * other tables. */
static int usable(unsigned encoding)
{
    unsigned base = encoding & ~(unsigned)ENCODED_FORMAT;
    return base == 0 || base == ENCODED_PCREL ? (int)encoding : ENCODED_UNKNOWN;
}

/* The encoding of addresses in the FDEs of a CIE, according to its AUGMENTATION, whose data begins at B. */
static int read_augmentation(const struct reader *r, struct dwarf_bytes *b,
                             const char *augmentation)
{
    if (augmentation[0] == '\0')
        return 0; /* absolute */
    if (augmentation[0] != 'z')
        return ENCODED_UNKNOWN;
    dwarf_uleb(b);
    for (const char *c = augmentation + 1; !b->bad; c++) {
        unsigned encoding;
        switch (*c) {
        case '\0':
            return 0;
        case 'R':
            encoding = (unsigned)dwarf_uint(b, 1);
            return b->bad ? ENCODED_UNKNOWN : usable(encoding);
        case 'L':
            dwarf_skip(b, 1);
            break;
        case 'P': /* encoding and address of the personality routine */
            encoding = (unsigned)dwarf_uint(b, 1);
            read_format(b, encoding & ENCODED_FORMAT, r->file->is_64);
            break;
        case 'S': /* signal frame; ARM's two: pointers are signed, memory is tagged */
        case 'B':
        case 'G':
            break;
        default:
            return ENCODED_UNKNOWN;
        }
    }
    return ENCODED_UNKNOWN;
}

/* The encoding of addresses in the FDEs of the CIE at OFFSET. */
static int encoding_of(struct reader *r, uint64_t offset)
{
    if (offset == r->cie)
        return r->encoding;
    struct dwarf_bytes b = dwarf_bytes_at(r->span, offset, r->file->big_endian);
    uint64_t length = dwarf_uint(&b, 4);
    length = length < MAX_CIE ? length : MAX_CIE;
    if (length < dwarf_bytes_left(&b))
        b.end = b.at + length;
    bool is_cie = dwarf_uint(&b, 4) == (r->is_debug ? UINT32_MAX : 0);
    uint64_t version = dwarf_uint(&b, 1);
    const char *augmentation = dwarf_string(&b);
    if (version == 4)
        dwarf_skip(&b, 2);
    dwarf_uleb(&b);
    dwarf_sleb(&b);
    if (version == 1)
        dwarf_skip(&b, 1);
    else
        dwarf_uleb(&b);
    bool known = is_cie && !b.bad && (version == 1 || version == 3 || version == 4);
    r->cie = offset;
    r->encoding = known ? read_augmentation(r, &b, augmentation) : ENCODED_UNKNOWN;
    return r->encoding;
}

/* Reads the FDE whose second word, which precedes B, locates its CIE: by a distance backwards, or
 * by an OFFSET. */
static bool read_fde(struct reader *r, struct dwarf_bytes *b, uint64_t offset)
{
    uint64_t here = (uint64_t)(b->at - r->span.data) - 4;
    uint64_t cie = r->is_debug ? offset : here - offset;
    int encoding = cie <= here ? encoding_of(r, cie) : ENCODED_UNKNOWN;
    if (encoding == ENCODED_UNKNOWN)
        return false;
    uint64_t begin = read_address(r, b, encoding);
    uint64_t size = read_format(b, encoding & ENCODED_FORMAT & ~ENCODED_SIGNED, r->file->is_64);
    if (!b->bad && size > 0)
        add(r, begin, begin + size - 1);
    return !b->bad;
}

/* Each record has a length, so a damaged one does not affect the others. */
static void read_records(struct reader *r)
{
    uint64_t offset = 0;
    while (r->span.size - offset >= 4) {
        struct dwarf_bytes b = dwarf_bytes_at(r->span, offset, r->file->big_endian);
        uint64_t length = dwarf_uint(&b, 4);
        if (length == 0 && r->ends_with_zero)
            return;
        if (length > dwarf_bytes_left(&b)) { /* or UINT32_MAX: 64 bits, never written */
            r->frames->damaged |= true;
            return;
        }
        b.end = b.at + length;
        offset += 4 + length;
        const uint64_t of_cie = r->is_debug ? UINT32_MAX : 0;
        uint64_t word = length > 0 ? dwarf_uint(&b, 4) : of_cie;
        if (word != of_cie || b.bad)
            r->frames->damaged |= b.bad || !read_fde(r, &b, word);
    }
}

/* ---- .ARM.exidx ---- */

static void read_exidx(struct reader *r)
{
    const bool big = r->file->big_endian;
    for (uint64_t at = 0; r->span.size - at >= EXIDX_ENTRY; at += EXIDX_ENTRY) {
        uint32_t word = get_u32(r->span.data + at, big);
        uint32_t offset = word | (word & 0x40000000) << 1;
        r->frames->damaged |= word >> 31;
        if (word >> 31 == 0)
            add(r, (uint32_t)(r->address + at + offset) & ~UINT32_C(1), UINT64_MAX);
    }
    r->frames->damaged |= r->span.size % EXIDX_ENTRY != 0;
}

/* ---- from tables to bounds ---- */

static int compare_bounds(const void *left, const void *right)
{
    const struct elf_bounds *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->last < b->last ? -1 : a->last > b->last;
}

static struct interval_map map_code(const struct elf_file *file)
{
    struct interval_map map;
    const bool by_section = file->section_count > 0;
    const size_t most = by_section ? file->section_count : file->segment_count;
    struct interval *code = mem_alloc(most * sizeof *code);
    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        uint64_t begin = by_section ? file->sections[i].address : file->segments[i].address;
        uint64_t size = by_section ? file->sections[i].size : file->segments[i].memory_size;
        bool executable = by_section ? (file->sections[i].flags & SHF_EXECINSTR) != 0
                                     : file->segments[i].executable;
        if (executable && size > 0 && size - 1 <= UINT64_MAX - begin)
            code[count++] = (struct interval){begin, begin + size - 1, (uint32_t)i};
    }
    interval_map_build(&map, code, count);
    free(code);
    return map;
}

/* Where functions overlap, each ends where the next one begins. Linkers leave the address 0 for
 * discarded functions. */
static void tidy(struct elf_frames *f, const struct elf_file *file)
{
    struct interval_map code = map_code(file);
    size_t kept = 0;
    if (f->count > 0)
        qsort(f->items, f->count, sizeof *f->items, compare_bounds);
    for (size_t i = 0; i < f->count; i++) {
        struct elf_bounds b = f->items[i];
        const struct interval *piece = interval_map_next(&code, b.begin);
        if (b.last < b.begin || piece == NULL || b.begin < piece->begin ||
            (i + 1 < f->count && f->items[i + 1].begin == b.begin))
            continue;
        b.last = b.last < piece->last ? b.last : piece->last;
        if (kept > 0 && f->items[kept - 1].last >= b.begin)
            f->items[kept - 1].last = b.begin - 1;
        f->items[kept++] = b;
    }
    f->count = kept;
    interval_map_free(&code);
}

/* ---- where the tables are ---- */

/* For a file without section headers: .eh_frame_hdr has the address of .eh_frame, but not its size; a segment contains
 * exactly .ARM.exidx. */
static bool find_by_segment(struct reader *r, uint8_t *header, struct elf_section *table)
{
    const struct elf_file *file = r->file;
    struct elf_segment unwind = file->unwind;
    if (file->machine != EM_ARM) {
        enum { HEADER = 12 };
        if (unwind.file_size < HEADER || !elf_file_read(file, unwind.offset, header, HEADER) ||
            header[0] != 1 || header[1] == ENCODED_OMIT || usable(header[1]) == ENCODED_UNKNOWN)
            return false;
        const struct reader in_header = {
            .file = file, .span = {header, HEADER}, .address = unwind.address};
        struct dwarf_bytes b = dwarf_bytes_at(in_header.span, 4, file->big_endian);
        unwind.address = read_address(&in_header, &b, header[1]);
        unwind.file_size = 0;
        for (size_t i = 0; i < file->segment_count; i++) {
            const struct elf_segment *s = &file->segments[i];
            uint64_t at = unwind.address - s->address;
            if (unwind.address >= s->address && at < s->file_size) {
                unwind.offset = s->offset + at;
                unwind.file_size = s->file_size - at;
            }
        }
        r->ends_with_zero = true;
    }
    *table = (struct elf_section){
        .name = "", .address = unwind.address, .offset = unwind.offset, .size = unwind.file_size};
    return unwind.file_size > 0;
}

static bool find_table(struct reader *r, struct elf_section *table)
{
    uint8_t header[16] = {0};
    const struct elf_file *file = r->file;
    const char *name = file->machine == EM_ARM ? ".ARM.exidx" : ".eh_frame";
    const struct elf_section *section = elf_section_find(file, name);
    if (section != NULL)
        *table = *section;
    return section != NULL || (file->section_count == 0 && find_by_segment(r, header, table));
}

static void read_table(struct reader *r, const struct elf_section *table)
{
    const struct elf_file *file = r->file;
    uint64_t size = elf_section_size(file, table);
    uint8_t *bytes = size > 0 && size <= MAX_TABLE ? mem_alloc(size) : NULL;
    if (bytes != NULL && elf_section_read(file, table, bytes)) {
        r->span = (struct dwarf_span){bytes, size};
        r->address = table->address;
        r->cie = UINT64_MAX;
        if (file->machine == EM_ARM && !r->is_debug)
            read_exidx(r);
        else
            read_records(r);
    } else
        r->frames->damaged |= table->size > 0;
    free(bytes);
}

struct elf_frames elf_frames_read(const struct elf_file *file)
{
    struct elf_frames frames = {0};
    struct elf_section table;
    struct reader r = {
        .file = file, .cie = UINT64_MAX, .encoding = ENCODED_UNKNOWN, .frames = &frames};
    if (file->type == ET_REL)
        return frames;
    if (find_table(&r, &table))
        read_table(&r, &table);
    const struct elf_section *section = elf_section_debug(file, "frame");
    if (section != NULL) {
        r.is_debug = true;
        r.ends_with_zero = false;
        read_table(&r, section);
    }
    tidy(&frames, file);
    return frames;
}

void elf_frames_free(struct elf_frames *frames)
{
    free(frames->items);
    *frames = (struct elf_frames){0};
}

size_t elf_frames_until(const struct elf_frames *frames, uint64_t address)
{
    return SEARCH_AFTER(frames->items, frames->count, begin, address);
}
