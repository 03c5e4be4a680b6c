/* Debug sections of an ELF file, unpacked.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_sections.h"

#include <stdlib.h>
#include <sys/mman.h>

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

/* The same for split debug information. Lines and addresses are those of the program. */
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
    uint64_t size;        /* of the wanted part */
    uint64_t room;        /* offset in ROOMS of the memory for all contents */
    bool room_used;
    bool damaged; /* or missing */
};

struct dwarf_sections {
    const struct elf_file *file;
    uint8_t *rooms; /* memory for packed sections; NULL: each gets its own */
    struct debug_section sections[DEBUG_SECTIONS];
};

/* [bytes] A large page takes a third of the time of small pages for the same amount of memory. This
 * does not hold for many large pages: they were not in use, and the host of a virtual machine has
 * taken them back. */
#define LARGE_PAGE   (UINT64_C(2) << 20)
#define MAX_IN_LARGE (UINT64_C(16) << 20)

/* .debug_info is the last section: if only its beginning is unpacked, the rest takes no memory. */
void dwarf_sections_reserve(struct dwarf_sections *d)
{
    uint64_t total = 0, info = 0;
    for (size_t i = 0; i < DEBUG_SECTIONS; i++) {
        struct debug_section *s = &d->sections[i];
        if (s->damaged || elf_section_in_place(d->file, s->section) != NULL)
            continue;
        const uint64_t size = (s->size + 63) / 64 * 64;
        s->room = total;
        total += i == DEBUG_INFO ? 0 : size;
        info = i == DEBUG_INFO ? size : info;
    }
    d->sections[DEBUG_INFO].room = total;
    total += info;
    if (total < LARGE_PAGE / 4 || total > MAX_IN_LARGE)
        return;
    /* an end that would fill less than a quarter of a large page gets small pages */
    const uint64_t large = (total + LARGE_PAGE / 4 * 3) / LARGE_PAGE * LARGE_PAGE;
    void *memory = mmap(NULL, (large > total ? large : total) + LARGE_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    d->rooms = (uint8_t *)memory + (LARGE_PAGE - (uintptr_t)memory % LARGE_PAGE) % LARGE_PAGE;
    madvise(d->rooms, large, MADV_HUGEPAGE);
}

/* Returns zeroed memory for the contents of S, which are packed; NULL if there is none. */
static uint8_t *take_room(const struct dwarf_sections *d, struct debug_section *s)
{
    const bool reserved = d->rooms != NULL && !s->room_used;
    s->room_used = true;
    return reserved ? d->rooms + s->room : calloc(elf_section_size(d->file, s->section), 1);
}

static const uint8_t *load(const struct dwarf_sections *d, struct debug_section *s)
{
    if (s->bytes != NULL || s->damaged)
        return s->bytes;
    s->bytes = elf_section_in_place(d->file, s->section);
    if (s->bytes != NULL)
        return s->bytes;
    uint8_t *unpacked = take_room(d, s);
    s->damaged =
        unpacked == NULL || !elf_section_read_begin(d->file, s->section, unpacked, s->size);
    if (s->damaged)
        return NULL;
    elf_file_unload(d->file, s->section->offset, s->section->size);
    s->bytes = unpacked;
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

uint64_t dwarf_sections_wanted(const struct dwarf_sections *d, enum dwarf_section kind)
{
    return d->sections[kind].size;
}

uint64_t dwarf_sections_unpacked(const struct dwarf_sections *d, enum dwarf_section kind)
{
    const struct debug_section *s = &d->sections[kind];
    return s->bytes != NULL ? s->size : 0;
}

void dwarf_sections_limit(struct dwarf_sections *d, enum dwarf_section kind, uint64_t size)
{
    struct debug_section *s = &d->sections[kind];
    const uint64_t all = dwarf_sections_size(d, kind), want = size < all ? size : all;
    if (s->bytes != NULL && s->size >= want)
        return;
    s->size = want;
    s->bytes = NULL;
    s->damaged = s->size == 0;
}

void dwarf_sections_rest(struct dwarf_sections *d, enum dwarf_section kind, uint64_t begin,
                         uint64_t end)
{
    const struct debug_section *s = &d->sections[kind];
    if (s->bytes != NULL && begin <= end && end <= s->section->size &&
        s->bytes == elf_section_in_place(d->file, s->section))
        elf_file_unload(d->file, s->section->offset + begin, end - begin);
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
