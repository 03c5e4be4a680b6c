/* Streams: windows, skips, seeks, pipes, bzip2.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "base/stream.h"
#include "base/temporary.h"
#include "tests/unit/scratch.h"

enum { SIZE = 3000000 };

/* Reads the stream to its end in pieces of irregular size and compares. */
static bool reads_as(struct stream *s, const struct buffer *want, struct error *err)
{
    static const size_t pieces[] = {1, 7, 4096, 100000, 262144, 262145, 700000};
    const uint8_t *data;
    uint64_t at = 0;
    for (size_t i = 0;; i++) {
        size_t piece = pieces[i % (sizeof pieces / sizeof pieces[0])];
        int64_t have = stream_peek(s, piece, &data, err);
        if (have < 0 || stream_offset(s) != at)
            return false;
        if (have == 0)
            return at == want->size;
        if ((uint64_t)have < piece && at + (uint64_t)have != want->size)
            return false; /* fewer only at the end */
        if (at + (uint64_t)have > want->size || memcmp(data, want->data + at, (size_t)have) != 0)
            return false;
        size_t use = (uint64_t)have < piece ? (size_t)have : piece;
        stream_advance(s, use);
        at += use;
    }
}

static void file_in_windows(struct check *check)
{
    struct buffer noise = scratch_noise(SIZE);
    struct error err = {0};
    scratch_write("noise", noise.data, noise.size);
    struct stream *s = stream_open("noise", &err);
    CHECK(s != NULL);
    CHECK_STR(stream_name(s), "noise");
    CHECK(reads_as(s, &noise, &err));
    stream_close(s);
    stream_close(NULL);
    buffer_free(&noise);
}

static void read_exactly(struct check *check)
{
    struct error err = {0};
    uint8_t to[4];
    scratch_write("ten", "0123456789", 10);
    struct stream *s = stream_open("ten", &err);
    CHECK_EQ(stream_read(s, to, 4, "sample", &err), 1);
    CHECK_EQ(stream_read(s, to, 4, "sample", &err), 1);
    CHECK_MEM(to, "4567", 4);
    CHECK_EQ(stream_read(s, to, 4, "sample", &err), -1);
    CHECK_HAS(err.text, "sample cut short: 2 of 4 bytes");
    stream_close(s);
    err = (struct error){0};
    s = stream_open("ten", &err);
    CHECK_EQ(stream_skip(s, 10, &err), 0);
    CHECK_EQ(stream_read(s, to, 1, "sample", &err), 0);
    CHECK_EQ(stream_skip(s, 1, &err), -1);
    stream_close(s);
}

static void skip_and_seek(struct check *check)
{
    struct buffer noise = scratch_noise(SIZE);
    struct error err = {0};
    const uint8_t *data;
    scratch_write("noise", noise.data, noise.size);
    struct stream *s = stream_open("noise", &err);
    CHECK_EQ(stream_make_seekable(s, &err), 0);
    CHECK_EQ(stream_size(s), SIZE);
    CHECK_EQ(stream_skip(s, 2000000, &err), 0);
    CHECK_EQ(stream_offset(s), 2000000);
    CHECK(stream_peek(s, 100, &data, &err) >= 100);
    CHECK_MEM(data, noise.data + 2000000, 100);
    CHECK_EQ(stream_seek(s, 5, &err), 0);
    CHECK(stream_peek(s, 100, &data, &err) >= 100);
    CHECK_MEM(data, noise.data + 5, 100);
    CHECK_EQ(stream_skip(s, UINT64_MAX, &err), -1); /* past the end; must not wrap around */
    CHECK(err.text[0] != '\0');
    CHECK_EQ(stream_seek(s, 0, &err), 0);
    CHECK(reads_as(s, &noise, &err));
    stream_close(s);
    buffer_free(&noise);
}

/* Reads to the end, skipping holes without reading them. Returns the number of bytes in these, or
 * -1 on an error. */
static int64_t skips_zeros(struct stream *s, const struct buffer *want, size_t piece)
{
    struct error err = {0};
    const uint8_t *data;
    int64_t skipped = 0, hole, have;
    do {
        uint64_t at = stream_offset(s);
        if ((hole = stream_hole(s, &err)) < 0 || at + (uint64_t)hole > want->size)
            return -1;
        for (int64_t i = 0; i < hole; i++)
            if (want->data[at + (uint64_t)i] != 0)
                return -1;
        skipped += hole;
        if (stream_skip(s, (uint64_t)hole, &err) != 0 ||
            (have = stream_peek(s, piece, &data, &err)) < 0)
            return -1;
        if ((uint64_t)have > piece)
            have = (int64_t)piece;
        at = stream_offset(s);
        if (memcmp(data, want->data + at, (size_t)have) != 0)
            return -1;
        stream_advance(s, (size_t)have);
    } while (have > 0);
    return stream_offset(s) == want->size ? skipped : -1;
}

static void holes_are_zeros(struct check *check)
{
    static const off_t at[] = {0, 4090, 8192, 100000, 1000000, 1000008, 2999999};
    struct error err = {0};
    for (int end = 0; end < 2; end++) { /* in a hole; with data */
        int fd = open("sparse", O_RDWR | O_CREAT | O_TRUNC, 0600);
        for (size_t i = 0; i + 1 < sizeof at / sizeof at[0] + (size_t)end; i++)
            CHECK_EQ(pwrite(fd, "abcdefgh", at[i] < 2999999 ? 8 : 1, at[i]),
                     at[i] < 2999999 ? 8 : 1);
        CHECK(ftruncate(fd, SIZE) == 0);
        bool sparse = lseek(fd, 0, SEEK_HOLE) < SIZE; /* unless the file system has no holes */
        close(fd);
        struct buffer want = scratch_read("sparse");
        for (size_t piece = 1; piece <= 1000000; piece *= 10) {
            struct stream *s = stream_open("sparse", &err);
            CHECK_EQ(stream_hole(s, &err), 0);
            CHECK_EQ(stream_make_seekable(s, &err), 0);
            int64_t skipped = skips_zeros(s, &want, piece);
            CHECK(skipped >= (sparse && piece < 1000 ? 2900000 : 0));
            CHECK_EQ(stream_seek(s, 0, &err), 0);
            CHECK(reads_as(s, &want, &err));
            CHECK_EQ(stream_hole(s, &err), 0);
            stream_close(s);
        }
        buffer_free(&want);
    }
}

static void no_holes(struct check *check)
{
    struct buffer noise = scratch_noise(SIZE);
    struct error err = {0};
    scratch_write("noise", noise.data, noise.size);
    struct stream *s = stream_open("noise", &err);
    CHECK_EQ(stream_make_seekable(s, &err), 0);
    CHECK_EQ(skips_zeros(s, &noise, 1000), 0);
    CHECK(truncate("noise", 5) == 0); /* shortened while it is read: not a hole */
    CHECK_EQ(stream_seek(s, 10, &err), 0);
    CHECK_EQ(stream_hole(s, &err), 0);
    stream_close(s);
    buffer_free(&noise);
}

/* Redirects stdin to the output of COMMAND; returns the old descriptor. */
static int stdin_from(const char *command, FILE **pipe)
{
    int old = dup(STDIN_FILENO);
    *pipe = popen(command, "r");
    if (*pipe == NULL || dup2(fileno(*pipe), STDIN_FILENO) < 0)
        abort();
    return old;
}

static void stdin_back(int old, FILE *pipe)
{
    dup2(old, STDIN_FILENO);
    close(old);
    pclose(pipe);
}

static void pipe_read_and_seekable(struct check *check)
{
    struct buffer noise = scratch_noise(SIZE);
    struct error err = {0};
    FILE *pipe;
    scratch_write("noise", noise.data, noise.size);
    for (int seekable = 0; seekable < 2; seekable++) {
        int old = stdin_from("cat noise", &pipe);
        struct stream *s = stream_open("-", &err);
        bool good = s != NULL && strcmp(stream_name(s), "<stdin>") == 0;
        if (good && seekable)
            good = stream_make_seekable(s, &err) == 0 && stream_size(s) == SIZE &&
                   stream_seek(s, SIZE - 1, &err) == 0 && stream_seek(s, 0, &err) == 0;
        good = good && reads_as(s, &noise, &err);
        stream_close(s);
        stdin_back(old, pipe);
        CHECK(good);
    }
    buffer_free(&noise);
}

/* NAME contains WANT, read as a stream and after it was made seekable. */
static void both_ways(struct check *check, const char *name, const struct buffer *want)
{
    for (int seekable = 0; seekable < 2; seekable++) {
        struct error err = {0};
        struct stream *s = stream_open(name, &err);
        CHECK(s != NULL);
        if (seekable)
            CHECK_EQ(stream_make_seekable(s, &err), 0);
        if (!reads_as(s, want, &err))
            CHECK_FAIL("%s differs: %s", name, err.text);
        stream_close(s);
    }
}

static void bzip2_streams(struct check *check)
{
    struct buffer noise = scratch_noise(SIZE);
    scratch_write("noise", noise.data, noise.size);
    CHECK(scratch_shell("bzip2 -k -f -1 noise && (head -c 1000000 noise | bzip2 -9; "
                        "bzip2 </dev/null; tail -c +1000001 noise | bzip2 -1) > multi && "
                        "pbzip2 -q -k -c -b1 noise > parallel"));
    const char *const names[] = {"noise.bz2", "multi", "parallel"};
    for (int i = 0; i < 3; i++)
        both_ways(check, names[i], &noise);
    buffer_free(&noise);
}

/* Reads PATH to its end. Returns 0, or -1 with ERR set. */
static int drain(const char *path, struct error *err)
{
    const uint8_t *data;
    int64_t have;
    struct stream *s = stream_open(path, err);
    if (s == NULL)
        return -1;
    while ((have = stream_peek(s, 1, &data, err)) > 0)
        stream_advance(s, (size_t)have);
    stream_close(s);
    return (int)have;
}

/* Several streams in a row, as parallel compressors write them, with the padding that gzip and xz
 * allow between them. */
static void other_compressions(struct check *check)
{
    struct buffer noise = scratch_noise(SIZE);
    scratch_write("noise", noise.data, noise.size);
    CHECK(scratch_shell(
        "for c in gzip xz zstd; do $c -q -k -f -1 <noise >one.$c; (head -c 1000000 noise | $c -q; "
        "$c -q </dev/null; "
        "test $c = zstd || head -c 8 /dev/zero; tail -c +1000001 noise | $c -q -9) >multi.$c; "
        "done; "
        "(printf '\\120\\052\\115\\030\\003\\0\\0\\0abc'; cat one.zstd) >skipped.zstd; "
        "(cat multi.xz; head -c 600000 /dev/zero) >padded.xz"));
    const char *const names[] = {"one.gzip", "one.xz",     "one.zstd",     "multi.gzip",
                                 "multi.xz", "multi.zstd", "skipped.zstd", "padded.xz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        both_ways(check, names[i], &noise);
    buffer_free(&noise);
}

/* PACK compresses the standard input with a checksum. */
static void cut_and_damaged(struct check *check, const char *pack)
{
    char command[100];
    snprintf(command, sizeof command, "seq 20000 | %s > whole", pack);
    CHECK(scratch_shell(command));
    struct buffer whole = scratch_read("whole");
    CHECK(whole.size > 1000);
    for (size_t size = 10; size < whole.size; size += size < 40 ? 1 : 97) {
        struct error err = {0};
        scratch_write("cut", whole.data, size);
        if (drain("cut", &err) != -1)
            CHECK_FAIL("%s: cut at %zu of %zu is not noticed", pack, size, whole.size);
        CHECK_HAS(err.text, "cut short");
    }
    for (size_t at = 20; at < whole.size - 1; at += 501) {
        struct error err = {0};
        whole.data[at] ^= 0x10;
        scratch_write("damaged", whole.data, whole.size);
        whole.data[at] ^= 0x10;
        if (drain("damaged", &err) != -1)
            CHECK_FAIL("%s: damage at %zu is not noticed", pack, at);
    }
    struct error err = {0};
    buffer_bytes(&whole, "garbage", 7);
    scratch_write("tail", whole.data, whole.size);
    CHECK_EQ(drain("tail", &err), -1);
    CHECK_HAS(err.text, "trailing data");
    buffer_free(&whole);
}

static void bzip2_cut_and_damaged(struct check *check)
{
    cut_and_damaged(check, "bzip2 -c");
}

static void gzip_cut_and_damaged(struct check *check)
{
    cut_and_damaged(check, "gzip -c");
}

static void xz_cut_and_damaged(struct check *check)
{
    cut_and_damaged(check, "xz -c");
}

static void zstd_cut_and_damaged(struct check *check)
{
    cut_and_damaged(check, "zstd -qc --check");
}

/* A header that requires a large window: refused before the memory is allocated. */
static void too_large_to_decompress(struct check *check)
{
    struct error err = {0};
    CHECK(scratch_shell("seq 2000000 | zstd -q --long=31 -c > far.zstd"));
    CHECK_EQ(drain("far.zstd", &err), -1);
    CHECK_HAS(err.text, "256 MiB");
    CHECK_HAS(err.text, "unzstd");
    err = (struct error){0};
    CHECK(scratch_shell("echo x | xz --lzma2=dict=1GiB -c > far.xz"));
    CHECK_EQ(drain("far.xz", &err), -1);
    CHECK_HAS(err.text, "256 MiB");
}

static void cannot_open(struct check *check)
{
    struct error err = {0};
    CHECK(stream_open("nonexistent", &err) == NULL);
    CHECK_HAS(err.text, "No such file");
    err = (struct error){0};
    CHECK(stream_open(".", &err) == NULL);
    CHECK_HAS(err.text, "directory");
    err = (struct error){0};
    scratch_write("empty", "", 0);
    CHECK_EQ(drain("empty", &err), 0);
}

static void temporary_file_leaves_nothing(struct check *check)
{
    struct error err = {0};
    CHECK(mkdir("tmp", 0700) == 0 || true);
    setenv("TMPDIR", "tmp", 1);
    int fd = temporary_file(&err);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "x", 1), 1);
    CHECK_EQ(scratch_count("tmp"), 0);
    close(fd);
    setenv("TMPDIR", "no/such/folder", 1);
    CHECK_EQ(temporary_file(&err), -1);
    CHECK_HAS(err.text, "temporary");
    unsetenv("TMPDIR");
}

CHECK_MAIN({"file_in_windows", file_in_windows}, {"read_exactly", read_exactly},
           {"skip_and_seek", skip_and_seek}, {"holes_are_zeros", holes_are_zeros},
           {"no_holes", no_holes}, {"pipe_read_and_seekable", pipe_read_and_seekable},
           {"bzip2_streams", bzip2_streams}, {"other_compressions", other_compressions},
           {"bzip2_cut_and_damaged", bzip2_cut_and_damaged},
           {"gzip_cut_and_damaged", gzip_cut_and_damaged},
           {"xz_cut_and_damaged", xz_cut_and_damaged},
           {"zstd_cut_and_damaged", zstd_cut_and_damaged},
           {"too_large_to_decompress", too_large_to_decompress}, {"cannot_open", cannot_open},
           {"temporary_file_leaves_nothing", temporary_file_leaves_nothing})
