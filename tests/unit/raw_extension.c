/* The raw extension: data survive a round trip, and salvage keeps whole blocks.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "formats/pbin/block.h"
#include "formats/raw/raw_extension.h"
#include "tests/unit/scratch.h"

static const uint8_t image[] = {0x7f, 'E', 'L', 'F', 0, 1, 2, 3};

/* Blocks that only earlier samplers wrote. */
static void put_maps(struct buffer *buffer, const struct raw_map *maps, size_t count)
{
    size_t begin = block_begin(buffer, "maps");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u64(buffer, maps[i].address);
        buffer_u64(buffer, maps[i].size);
        buffer_u64(buffer, maps[i].offset);
        buffer_u32(buffer, maps[i].pid);
        buffer_string(buffer, maps[i].build_id);
        buffer_string(buffer, maps[i].path);
    }
    block_end(buffer, begin);
}

static void put_threads(struct buffer *buffer, const struct raw_thread *threads, size_t count)
{
    size_t begin = block_begin(buffer, "thrd");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(buffer, threads[i].tid);
        buffer_u32(buffer, threads[i].pid);
        buffer_string(buffer, threads[i].name);
    }
    block_end(buffer, begin);
}

static struct buffer extension(bool done)
{
    struct buffer b = {0};
    struct raw_fact facts[] = {
        {(char *)"sampler", (char *)"sampler 0.1"},      {(char *)"command", (char *)"./burn -x"},
        {(char *)"command_of_the_future", (char *)"ls"}, {(char *)"host", (char *)""},
        {(char *)"frequency", (char *)"997.5"},          {(char *)"cpus", (char *)"2"}};
    struct raw_map maps[] = {{0x401000, 0x2000, 0x1000, 7, (char *)"00ff", (char *)"/bin/burn"},
                             {UINT64_MAX - 4095, 4096, 0, 8, (char *)"", (char *)"/lib/x"}};
    struct raw_thread threads[] = {{7, 7, (char *)"burn"}, {9, 7, (char *)"worker"}};
    uint64_t times[] = {0, 1000000, 2000001};
    buffer_bytes(&b, raw_signature, RAW_SIGNATURE_SIZE);
    raw_put_facts(&b, facts, 6);
    put_maps(&b, maps, 2);
    put_threads(&b, threads, 2);
    raw_put_vdso(&b, 0x7fff00000000, image, sizeof image);
    raw_put_times(&b, 0, times, 3);
    if (done)
        raw_put_done(&b, 3);
    return b;
}

static int read_back(const struct buffer *b, size_t size, bool salvage, struct raw_extension *ext,
                     struct error *err)
{
    scratch_write("ext", b->data, size);
    struct stream *s = stream_open("ext", err);
    int result = stream_make_seekable(s, err);
    if (result == 0)
        result = raw_extension_read(s, ext, salvage, err);
    stream_close(s);
    return result;
}

static void round_trip(struct check *check)
{
    struct error err = {0};
    struct raw_extension ext;
    struct buffer b = extension(true);
    CHECK_EQ(read_back(&b, b.size, false, &ext, &err), 0);
    CHECK_STR(ext.facts.command, "./burn -x");
    CHECK_STR(ext.facts.host, "");
    CHECK(ext.facts.cwd == NULL);
    CHECK(ext.facts.frequency == 997.5);
    CHECK_EQ(ext.facts.cpus, 2);
    CHECK_EQ(ext.map_count, 2);
    CHECK_EQ(ext.maps[0].address, 0x401000);
    CHECK_EQ(ext.maps[0].offset, 0x1000);
    CHECK_STR(ext.maps[0].build_id, "00ff");
    CHECK_STR(ext.maps[1].path, "/lib/x");
    CHECK_EQ(ext.maps[1].pid, 8);
    CHECK_EQ(ext.thread_count, 2);
    CHECK_STR(ext.threads[1].name, "worker");
    CHECK_EQ(ext.vdso_size, sizeof image);
    CHECK_MEM(ext.vdso, image, sizeof image);
    CHECK_EQ(ext.vdso_address, 0x7fff00000000);
    CHECK(ext.time_at > 0 && ext.rows_at == 0 && ext.done);
    CHECK_EQ(ext.samples, 3);
    CHECK_EQ(ext.end, b.size);
    raw_extension_free(&ext);
    buffer_free(&b);
}

static void every_truncation(struct check *check)
{
    struct buffer b = extension(true);
    for (size_t size = RAW_SIGNATURE_SIZE; size < b.size; size++) {
        struct error err = {0};
        struct raw_extension ext;
        if (read_back(&b, size, false, &ext, &err) != -1)
            CHECK_FAIL("cut at %zu of %zu is not noticed", size, b.size);
        CHECK(err.text[0] != '\0');
        err = (struct error){0};
        if (read_back(&b, size, true, &ext, &err) != 0)
            CHECK_FAIL("cut at %zu is not salvaged: %s", size, err.text);
        CHECK(!ext.done && ext.end <= size);
        CHECK(size < b.size - 1 || (ext.thread_count == 2 && ext.time_at > 0));
        raw_extension_free(&ext);
    }
    buffer_free(&b);
}

static void trailing_data(struct check *check)
{
    struct error err = {0};
    struct raw_extension ext;
    struct buffer b = extension(true);
    raw_put_done(&b, 3);
    CHECK_EQ(read_back(&b, b.size, false, &ext, &err), -1);
    err = (struct error){0};
    b.size -= 1;
    CHECK_EQ(read_back(&b, b.size, false, &ext, &err), -1);
    err = (struct error){0};
    buffer_free(&b);
    b = extension(false);
    CHECK_EQ(read_back(&b, b.size, false, &ext, &err), -1);
    CHECK_HAS(err.text, "end block");
    buffer_free(&b);
}

/* A block whose payload is shorter than its counts require, with a correct checksum. */
static void implausible_counts(struct check *check)
{
    const char *const types[] = {"info", "maps", "thrd"};
    for (int i = 0; i < 3; i++) {
        struct error err = {0};
        struct raw_extension ext;
        struct buffer b = {0};
        buffer_bytes(&b, raw_signature, RAW_SIGNATURE_SIZE);
        size_t begin = block_begin(&b, types[i]);
        buffer_u32(&b, UINT32_MAX);
        block_end(&b, begin);
        raw_put_done(&b, 0);
        CHECK_EQ(read_back(&b, b.size, false, &ext, &err), -1);
        CHECK_HAS(err.text, types[i]);
        err = (struct error){0};
        CHECK_EQ(read_back(&b, b.size, true, &ext, &err), 0);
        raw_extension_free(&ext);
        buffer_free(&b);
    }
}

static void unknown_optional_block(struct check *check)
{
    struct error err = {0};
    struct raw_extension ext;
    struct buffer b = {0};
    buffer_bytes(&b, raw_signature, RAW_SIGNATURE_SIZE);
    size_t begin = block_begin(&b, "futu");
    buffer_u32(&b, 1);
    block_end(&b, begin);
    raw_put_done(&b, 0);
    CHECK_EQ(read_back(&b, b.size, false, &ext, &err), 0);
    raw_extension_free(&ext);
    b.size = RAW_SIGNATURE_SIZE;
    begin = block_begin(&b, "Need");
    block_end(&b, begin);
    raw_put_done(&b, 0);
    CHECK_EQ(read_back(&b, b.size, false, &ext, &err), -1); /* required but unknown: refused */
    buffer_free(&b);
}

static void rows_are_counted(struct check *check)
{
    struct error err = {0};
    struct raw_extension ext;
    struct buffer b = {0};
    uint8_t rows[40] = {0};
    buffer_bytes(&b, raw_signature, RAW_SIGNATURE_SIZE);
    raw_put_facts(&b, NULL, 0);
    size_t at = b.size;
    raw_put_rows(&b, rows, 40, 2);
    raw_put_rows(&b, rows, 20, 1);
    CHECK_EQ(read_back(&b, b.size, true, &ext, &err), 0);
    CHECK_EQ(ext.samples, 3);
    CHECK_EQ(ext.rows_at, at);
    CHECK_EQ(ext.end, b.size);
    raw_extension_free(&ext);
    buffer_free(&b);
}

/* The contents of files without build-id belong to the mappings of these files. */
static void contents(struct check *check)
{
    struct error err = {0};
    struct raw_extension ext;
    struct raw_image run = {.parent = RAW_NO_IMAGE, .path = (char *)"/a", .comm = (char *)"a"};
    struct raw_mapx maps[] = {
        {.inode = 7, .build_id = (char *)"", .path = (char *)"/a"},
        {.inode = 8, .build_id = (char *)"", .path = (char *)"/a"},
        {.inode = 7, .build_id = (char *)"00ff", .path = (char *)"/b"},
        {.inode = 7, .build_id = (char *)"", .path = (char *)"/b"},
        {.inode = 7, .build_id = (char *)"", .path = (char *)"/a", .kind = RAW_MAP_ANONYMOUS}};
    struct raw_code codes[] = {{7, (char *)"/a", (char *)"code:1:2"},
                               {7, (char *)"/b", (char *)"code:3:4"},
                               {9, (char *)"/c", (char *)"code:5:6"}};
    static const char *const expected[] = {"code:1:2", "", "00ff", "code:3:4", ""};
    for (int bad = 0; bad < 2; bad++) {
        struct buffer b = {0};
        codes[2].content = (char *)(bad ? "00fe" : "code:5:6");
        buffer_bytes(&b, raw_signature, RAW_SIGNATURE_SIZE);
        raw_put_images(&b, &run, 1);
        raw_put_mapx(&b, maps, 5);
        raw_put_codes(&b, codes, 3);
        raw_put_done(&b, 0);
        CHECK_EQ(read_back(&b, b.size, false, &ext, &err), bad ? -1 : 0);
        for (size_t i = 0; i < 5 && !bad; i++)
            CHECK_STR(ext.mapx[i].build_id, expected[i]);
        if (bad)
            CHECK_HAS(err.text, "'code'");
        raw_extension_free(&ext);
        buffer_free(&b);
    }
}

static void kinds_of_mappings(struct check *check)
{
    static const struct {
        const char *path;
        enum raw_mapping kind;
    } expected[] = {{"/usr/bin/a", RAW_MAP_FILE},
                    {"/dev/shm/a", RAW_MAP_FILE},
                    {"/tmp/gone (deleted)", RAW_MAP_FILE},
                    {"/memfd:jit (deleted)", RAW_MAP_ANONYMOUS},
                    {"/SYSV00000000 (deleted)", RAW_MAP_ANONYMOUS},
                    {"/dev/zero (deleted)", RAW_MAP_ANONYMOUS},
                    {"//anon", RAW_MAP_ANONYMOUS},
                    {"[anon:jit]", RAW_MAP_ANONYMOUS},
                    {"", RAW_MAP_ANONYMOUS},
                    {"[heap]", RAW_MAP_HEAP},
                    {"[stack]", RAW_MAP_STACK},
                    {"[vdso]", RAW_MAP_VDSO},
                    {"[vsyscall]", RAW_MAP_VSYSCALL}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        CHECK_EQ(raw_mapping_of_path(expected[i].path), expected[i].kind);
}

CHECK_MAIN({"round_trip", round_trip}, {"every_truncation", every_truncation},
           {"trailing_data", trailing_data}, {"implausible_counts", implausible_counts},
           {"unknown_optional_block", unknown_optional_block},
           {"rows_are_counted", rows_are_counted}, {"contents", contents},
           {"kinds_of_mappings", kinds_of_mappings})
