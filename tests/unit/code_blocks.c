/* Blocks of code, which are the same in all processes that map the same file.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "convert/prof2pbin/code_blocks.h"

static char program[] = "/bin/program", library[] = "/lib/library";

enum { FIRST, CHILD, AGAIN, OTHER };

/* A program that maps a library, its child, and the same program, executed again. */
static struct raw_image images[] = {[FIRST] = {.parent = RAW_NO_IMAGE, .how = RAW_FIRST},
                                    [CHILD] = {.parent = FIRST, .how = RAW_FORK},
                                    [AGAIN] = {.parent = CHILD, .how = RAW_EXEC},
                                    [OTHER] = {.parent = OTHER, .how = RAW_FORK}};
static struct raw_mapx maps[] = {
    {.image = AGAIN, .address = 0x7000, .size = 0x1000, .offset = 0x2000, .path = program},
    {.image = FIRST, .address = 0x9000, .size = 0x1000, .offset = 0x2000, .path = library},
    {.image = FIRST, .address = 0x4000, .size = 0x1000, .offset = 0x2000, .path = program},
    {.image = FIRST, .address = 0xa000, .size = 0x1000, .path = program, .kind = RAW_MAP_HEAP},
    {.image = CHILD, .address = 0xc000, .size = 0x800, .offset = 0x2000, .path = library}};

static void same_file(struct check *check)
{
    const struct raw_extension ext = {
        .images = images, .image_count = 4, .mapx = maps, .mapx_count = sizeof maps / sizeof *maps};
    struct code_blocks *blocks = code_blocks_new(&ext);
    uint64_t block = code_blocks_at(blocks, FIRST, 0x4140);
    CHECK(code_blocks_at(blocks, FIRST, 0x417f) == block);
    CHECK(code_blocks_at(blocks, FIRST, 0x4180) != block);
    CHECK(code_blocks_at(blocks, FIRST, 0x9140) != block); /* another file */
    CHECK(code_blocks_at(blocks, CHILD, 0x4140) == block);
    CHECK(code_blocks_at(blocks, AGAIN, 0x7140) == block);
    CHECK(code_blocks_at(blocks, CHILD, 0xc140) == code_blocks_at(blocks, FIRST, 0x9140));
    code_blocks_delete(blocks);
}

/* Outside of files, processes have nothing in common. */
static void no_file(struct check *check)
{
    const struct raw_extension ext = {
        .images = images, .image_count = 4, .mapx = maps, .mapx_count = sizeof maps / sizeof *maps};
    struct code_blocks *blocks = code_blocks_new(&ext);
    const uint64_t places[] = {0, 0x3fff, 0x5000, 0xa000, 0xc800, UINT64_MAX};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t block = code_blocks_at(blocks, FIRST, places[i]);
        CHECK(block == code_blocks_at(blocks, FIRST, places[i] ^ 1));
        CHECK(block != code_blocks_at(blocks, CHILD, places[i]));
        CHECK(block != code_blocks_at(blocks, AGAIN, places[i]));
    }
    CHECK(code_blocks_at(blocks, AGAIN, 0x4140) != code_blocks_at(blocks, FIRST, 0x4140));
    CHECK(code_blocks_at(blocks, OTHER, 1) == code_blocks_at(blocks, OTHER, 2));
    CHECK(code_blocks_at(blocks, RAW_NO_IMAGE, 1) == code_blocks_at(blocks, RAW_NO_IMAGE, 2));
    code_blocks_delete(blocks);
}

CHECK_MAIN({"same_file", same_file}, {"no_file", no_file})
