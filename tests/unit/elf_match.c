/* Whether a file is the one that ran, and where a mapping is in it.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <elf.h>

#include "formats/elf/elf_content.h"
#include "formats/elf/elf_match.h"

#define MINE  "0102"
#define OTHER "0103"

/* A file of 0x6000 bytes: read-only data, code, code at a larger distance, data. */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[5];
    struct {
        Elf64_Nhdr header;
        char name[4];
        uint8_t id[4];
    } note;
    uint8_t rest[0x5000];
};

static struct image make_image(uint16_t type, bool has_id)
{
    struct image image = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = type,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_phoff = offsetof(struct image, segments),
                   .e_ehsize = sizeof image.header,
                   .e_phentsize = sizeof image.segments[0],
                   .e_phnum = 5},
        .segments = {{PT_LOAD, PF_R, 0, 0x10000, 0, 0x1000, 0x1000, 0x1000},
                     {PT_LOAD, PF_R | PF_X, 0x1000, 0x11000, 0, 0x1234, 0x1234, 0x1000},
                     {PT_LOAD, PF_R | PF_X, 0x3000, 0x33000, 0, 0x800, 0x800, 0x1000},
                     {PT_LOAD, PF_R | PF_W, 0x4000, 0x44000, 0, 0x1000, 0x2000, 0x1000},
                     {PT_NOTE, PF_R, offsetof(struct image, note), 0, 0, sizeof image.note,
                      sizeof image.note, 4}},
        .note = {{4, 2, NT_GNU_BUILD_ID}, "GNU", {1, 2}},
    };
    if (!has_id)
        image.segments[4].p_type = PT_NULL;
    return image;
}

/* The reason why the mapping does not match; "" if it does. */
static const char *match(const struct image *image, struct elf_mapping *mapping, uint64_t pc,
                         uint64_t *address)
{
    static struct error err;
    err = (struct error){0};
    struct elf_file *file =
        elf_file_from_memory((const uint8_t *)image, sizeof *image, "image", &err);
    if (file != NULL && elf_match(file, mapping, &err) == 0)
        *address = elf_mapping_address(file, mapping, pc);
    elf_file_close(file);
    return err.text;
}

#define REFUSED(image, mapping, why)                                                               \
    do {                                                                                           \
        uint64_t address;                                                                          \
        struct elf_mapping m = mapping;                                                            \
        const char *text = match(&(image), &m, 0, &address);                                       \
        if (strstr(text, why) == NULL)                                                             \
            CHECK_STR(text, why);                                                                  \
    } while (0)

#define AT(image, mapping, pc, expected)                                                           \
    do {                                                                                           \
        uint64_t address = 0;                                                                      \
        struct elf_mapping m = mapping;                                                            \
        CHECK_STR(match(&(image), &m, pc, &address), "");                                          \
        CHECK_EQ(address, expected);                                                               \
    } while (0)

#define MAPPING(...) ((struct elf_mapping){.address = 0x700000, __VA_ARGS__})

static void build_ids_decide(struct check *check)
{
    const struct image image = make_image(ET_EXEC, true);
    REFUSED(image, MAPPING(.size = 0x2000, .build_id = OTHER),
            "its build-id is 0102, expected 0103");
    /* mapped again: not where it was linked, from the middle, larger than any segment */
    AT(image, MAPPING(.size = 0x2000, .has_offset = true, .offset = 0x1000, .build_id = MINE),
       0x700010, 0x11010);
    AT(image, MAPPING(.size = 0x100000, .has_offset = true, .offset = 0x2000, .build_id = MINE),
       0x700010, 0x12010);
    /* without an offset: by size, or else the first segment of code */
    AT(image, MAPPING(.size = 0x1000, .build_id = MINE), 0x700010, 0x11010);
    AT(image, MAPPING(.size = 0x100000, .build_id = MINE), 0x700010, 0x11010);
    REFUSED(image, MAPPING(.size = 0x1000, .has_offset = true, .offset = 0x90000, .build_id = MINE),
            "contains no code that could be mapped there");
}

static void each_byte_has_its_segment(struct check *check)
{
    const struct image image = make_image(ET_DYN, true);
    const struct elf_mapping all =
        MAPPING(.size = 0x6000, .has_offset = true, .offset = 0, .build_id = MINE);
    AT(image, all, 0x700000, 0x10000);
    AT(image, all, 0x701000, 0x11000);
    AT(image, all, 0x702233, 0x12233);
    AT(image, all, 0x702240, 0x12240); /* on the last page of code, after its end */
    AT(image, all, 0x703010, 0x33010);
    AT(image, all, 0x704010, 0x44010);
}

static void else_sizes_decide(struct check *check)
{
    const struct image moved = make_image(ET_DYN, false), fixed = make_image(ET_EXEC, false);
    AT(moved, MAPPING(.size = 0x2000), 0x700010, 0x11010);
    AT(moved, MAPPING(.size = 0x1000), 0x700010, 0x33010);
    AT(moved, MAPPING(.size = 0x1000, .has_offset = true, .offset = 0x2000), 0x700010, 0x12010);
    REFUSED(moved, MAPPING(.size = 0x5000), "its code has 8192 bytes, the mapping 20480");
    REFUSED(moved, MAPPING(.size = 0x40000, .has_offset = true, .offset = 0x1000), "the mapping");
    REFUSED(fixed, MAPPING(.size = 0x2000), "its code has 8192 bytes, the mapping 8192");
    AT(fixed, ((struct elf_mapping){.address = 0x11000, .size = 0x2000}), 0x11010, 0x11010);
    AT(fixed, MAPPING(.size = 0x2000, .has_offset = true, .offset = 0x1000, .is_image = true),
       0x700010, 0x11010);
}

/* A file without a build-id in place of one that had one: accepted only where a whole segment was
 * mapped. */
static void one_build_id(struct check *check)
{
    const struct image bare = make_image(ET_DYN, false), marked = make_image(ET_DYN, true);
    AT(bare, MAPPING(.size = 0x2000, .has_offset = true, .offset = 0x1000, .build_id = OTHER),
       0x700010, 0x11010);
    REFUSED(bare, MAPPING(.size = 0x1000, .has_offset = true, .offset = 0x1000, .build_id = OTHER),
            "it has no build-id, expected 0103");
    REFUSED(bare, MAPPING(.size = 0x2000, .has_offset = true, .offset = 0x2000, .build_id = OTHER),
            "it has no build-id, expected 0103");
    AT(marked, MAPPING(.size = 0x2000, .build_id = ""), 0x700010, 0x11010);
    AT(marked, MAPPING(.size = 0x2000, .has_offset = true, .offset = 0x1000), 0x700010, 0x11010);
    REFUSED(marked, MAPPING(.size = 0x1000, .has_offset = true, .offset = 0x1000),
            "the mapping 4096");
    AT(marked, MAPPING(.size = 0, .has_offset = true, .offset = 0x2000), 0x700010, 0x12010);
    REFUSED(marked, MAPPING(.size = 0x7000, .build_id = ""), "its code has 8192 bytes");
}

/* The file that ran had no build-id, but its code is known. */
static void contents_decide(struct check *check)
{
    struct image image = make_image(ET_DYN, false);
    struct error err = {0};
    char id[ELF_CONTENT_ID];
    struct elf_file *file =
        elf_file_from_memory((const uint8_t *)&image, sizeof image, "image", &err);
    elf_content_id(file, id);
    elf_file_close(file);
    CHECK_HAS(id, "code:6708:"); /* 0x1234 + 0x800 */
    AT(image, MAPPING(.size = 0x100000, .has_offset = true, .offset = 0x2000, .build_id = id),
       0x700010, 0x12010);
    image.rest[sizeof image.rest - 1]++; /* not code */
    AT(image, MAPPING(.size = 0x2000, .build_id = id), 0x700010, 0x11010);
    ((uint8_t *)&image)[0x37ff]++; /* the last byte of code */
    REFUSED(image, MAPPING(.size = 0x2000, .build_id = id), id);
    REFUSED(image, MAPPING(.size = 0x2000, .build_id = elf_content_lost), "'code:0:0'");
}

CHECK_MAIN({"build_ids_decide", build_ids_decide},
           {"each_byte_has_its_segment", each_byte_has_its_segment},
           {"else_sizes_decide", else_sizes_decide}, {"one_build_id", one_build_id},
           {"contents_decide", contents_decide})
