/* Debug sections of an ELF file as libdwarf wants to see them.
 *
 * libdwarf 20210528 would read ELF and inflate by itself, but refuses sections that shrank to less
 * than a sixteenth (a legal line table of gcc -gz shrinks 300 times), looks at other files by
 * name, and trips over section groups. So it sees only the sections it needs, unpacked.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_sections.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/memory.h"

/* Without a NUL-named section 0, as in ELF. .debug_aranges is missing: the units' own ranges say
 * the same; .debug_frame, _loc, _macro, _types and the indexes are not needed for lines and
 * functions. */
static const char *const wanted[] = {"info",   "abbrev",   "line", "str",        "line_str",
                                     "ranges", "rnglists", "addr", "str_offsets"};
enum { WANTED = sizeof wanted / sizeof wanted[0] };

/* zlib cannot do better than 1032:1; nothing larger than this is unpacked at all. */
#define LARGEST_UNPACKED (UINT64_C(4) << 30)
enum { BEST_RATIO = 1032 };

struct debug_section {
    char name[24];
    const uint8_t *packed, *bytes; /* BYTES: NULL until unpacked */
    uint64_t packed_size, size;
};

struct dwarf_sections {
    bool big_endian, is_64;
    struct debug_section sections[WANTED + 1]; /* [0] is ELF's empty one */
    size_t count;
    Dwarf_Obj_Access_Interface interface;
    Dwarf_Obj_Access_Methods methods;
};

/* Size of the header before zlib's data, and the size that it promises; 0: not compressed. */
static uint64_t packed_header(const struct elf_image *image, const struct elf_section *section,
                              const uint8_t *head, uint64_t *size)
{
    if (section->name[1] == 'z' && section->size >= 12 && memcmp(head, "ZLIB", 4) == 0) {
        *size = get_u64(head + 4, true);
        return 12;
    }
    uint64_t header = image->is_64 ? 24 : 12;
    if (!(section->flags & SHF_COMPRESSED) || section->size < header ||
        get_u32(head, image->big_endian) != ELFCOMPRESS_ZLIB)
        return 0;
    *size =
        image->is_64 ? get_u64(head + 8, image->big_endian) : get_u32(head + 4, image->big_endian);
    return header;
}

static const struct elf_section *find_section(const struct elf_image *image, const char *name)
{
    char full[40] = ".debug_";
    strcpy(full + 7, name);
    const struct elf_section *section = elf_image_section(image, full);
    if (section != NULL)
        return section;
    strcpy(full, ".zdebug_");
    strcpy(full + 8, name);
    return elf_image_section(image, full);
}

static bool plausible(uint64_t size, uint64_t packed)
{
    return size <= LARGEST_UNPACKED && size / BEST_RATIO <= packed + 1;
}

static void add_section(struct dwarf_sections *d, const struct elf_image *image, const char *name,
                        const uint8_t *file, uint64_t file_size)
{
    const struct elf_section *section = find_section(image, name);
    struct debug_section *s = &d->sections[d->count];
    if (section == NULL || section->offset > file_size ||
        section->size > file_size - section->offset)
        return;
    const uint8_t *data = file + section->offset;
    uint64_t size = 0, header = packed_header(image, section, data, &size);
    strcpy(s->name, ".debug_");
    strcat(s->name, name);
    if (header == 0 && ((section->flags & SHF_COMPRESSED) || section->name[1] == 'z'))
        return; /* a compression that we do not know */
    if (header == 0) {
        s->bytes = data;
        s->size = section->size;
    } else if (plausible(size, section->size)) {
        s->packed = data + header;
        s->packed_size = section->size - header;
        s->size = size;
    }
    d->count += s->size > 0;
}

static bool unpack(struct debug_section *s)
{
    uLongf size = s->size;
    uint8_t *bytes = malloc(s->size);
    if (bytes == NULL || uncompress(bytes, &size, s->packed, s->packed_size) != Z_OK ||
        size != s->size) {
        free(bytes);
        return false;
    }
    s->bytes = bytes;
    return true;
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
    struct debug_section *s = &d->sections[index];
    if (s->bytes == NULL && !(s->packed != NULL && unpack(s))) {
        *error = DW_DLE_ZLIB_DATA_ERROR;
        return DW_DLV_ERROR;
    }
    *data = (Dwarf_Small *)s->bytes;
    return DW_DLV_OK;
}

const uint8_t *dwarf_sections_find(struct dwarf_sections *d, const char *name, uint64_t *size)
{
    for (size_t i = 1; i < d->count; i++)
        if (strcmp(d->sections[i].name, name) == 0 &&
            (d->sections[i].bytes != NULL || unpack(&d->sections[i]))) {
            *size = d->sections[i].size;
            return d->sections[i].bytes;
        }
    *size = 0;
    return NULL;
}

static Dwarf_Endianness byte_order(void *object)
{
    return ((struct dwarf_sections *)object)->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static Dwarf_Small pointer_size(void *object)
{
    return ((struct dwarf_sections *)object)->is_64 ? 8 : 4;
}

static Dwarf_Unsigned section_count(void *object)
{
    return ((struct dwarf_sections *)object)->count;
}

struct dwarf_sections *dwarf_sections_new(const struct elf_image *image, const uint8_t *file,
                                          uint64_t file_size)
{
    struct dwarf_sections *d = mem_zalloc(1, sizeof *d);
    d->is_64 = image->is_64;
    d->big_endian = image->big_endian;
    d->count = 1;
    for (size_t i = 0; i < WANTED; i++)
        add_section(d, image, wanted[i], file, file_size);
    d->methods = (Dwarf_Obj_Access_Methods){section_info,  byte_order,   pointer_size, pointer_size,
                                            section_count, load_section, NULL};
    d->interface = (Dwarf_Obj_Access_Interface){d, &d->methods};
    return d;
}

Dwarf_Obj_Access_Interface *dwarf_sections_interface(struct dwarf_sections *d)
{
    return &d->interface;
}

uint64_t dwarf_sections_size(const struct elf_image *image)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < WANTED; i++) {
        const struct elf_section *section = find_section(image, wanted[i]);
        uint8_t head[24] = {0};
        uint64_t size = 0;
        if (section == NULL ||
            !elf_image_read(image, section->offset, head,
                            section->size < sizeof head ? section->size : sizeof head))
            continue;
        if (packed_header(image, section, head, &size) == 0 || !plausible(size, section->size))
            size = section->size;
        sum += size < LARGEST_UNPACKED ? size : LARGEST_UNPACKED;
    }
    return sum;
}
