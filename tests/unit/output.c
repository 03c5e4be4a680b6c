/* Outputs: complete or not at all.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <errno.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/output.h"
#include "base/stream.h"
#include "tests/unit/scratch.h"

static bool holds(const char *path, const char *text)
{
    struct buffer b = scratch_read(path);
    bool same = b.size == strlen(text) && (b.size == 0 || memcmp(b.data, text, b.size) == 0);
    buffer_free(&b);
    return same;
}

static void appears_when_complete(struct check *check)
{
    struct error err = {0};
    mkdir("new", 0700);
    struct output *o = output_open("new/file", 0, &err);
    CHECK(o != NULL);
    CHECK_EQ(output_printf(o, "%s %d\n", "hello", 5), 0);
    CHECK_EQ(output_write(o, "world\n", 6), 0);
    CHECK_EQ(scratch_count("new"), 0);
    CHECK_EQ(output_commit(o), 0);
    CHECK(holds("new/file", "hello 5\nworld\n"));
    CHECK_EQ(scratch_count("new"), 1);
}

static void discard_leaves_the_old_one(struct check *check)
{
    struct error err = {0};
    mkdir("old", 0700);
    scratch_write("old/file", "old", 3);
    chmod("old/file", 0640);
    struct output *o = output_open("old/file", 0, &err);
    CHECK_EQ(output_write(o, "new", 3), 0);
    output_discard(o);
    output_discard(NULL);
    CHECK(holds("old/file", "old"));
    CHECK_EQ(scratch_count("old"), 1);
    o = output_open("old/file", 0, &err);
    output_write(o, "new!", 4);
    CHECK_EQ(output_commit(o), 0);
    CHECK(holds("old/file", "new!"));
    CHECK_EQ(scratch_count("old"), 1);
    struct stat st;
    CHECK(stat("old/file", &st) == 0 && (st.st_mode & 07777) == 0640);
}

/* Writes to NAMES the names that appeared in the folder watched by FD, one after the other. */
static void names_seen(int fd, char *names, size_t size)
{
    union {
        struct inotify_event event;
        char bytes[4096];
    } buffer;
    ssize_t got = read(fd, buffer.bytes, sizeof buffer);
    names[0] = '\0';
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *event = (const void *)(buffer.bytes + at);
        snprintf(names + strlen(names), size - strlen(names), "%s ", event->name);
        at += (ssize_t)sizeof *event + event->len;
    }
}

static void write_one(const char *path, const char *text)
{
    struct error err = {0};
    struct output *o = output_open(path, 0, &err);
    if (o == NULL || output_write(o, text, strlen(text)) != 0 || output_commit(o) != 0)
        abort();
}

static void new_file_has_one_name(struct check *check)
{
    char names[256], expected[64];
    mkdir("watched", 0700);
    int fd = inotify_init1(IN_CLOEXEC);
    CHECK(inotify_add_watch(fd, "watched", IN_CREATE | IN_MOVED_TO) >= 0);
    write_one("watched/file", "old");
    names_seen(fd, names, sizeof names);
    CHECK_STR(names, "file ");
    write_one("watched/file", "new");
    names_seen(fd, names, sizeof names);
    snprintf(expected, sizeof expected, "file.%d-0.tmp file ", (int)getpid());
    CHECK_STR(names, expected);
    close(fd);
    CHECK(holds("watched/file", "new"));
    CHECK_EQ(scratch_count("watched"), 1);
}

static void old_or_new_at_any_time(struct check *check)
{
    write_one("replaced", "one");
    pid_t writer = fork();
    if (writer == 0)
        for (;;) {
            write_one("replaced", "two");
            write_one("replaced", "one");
        }
    bool whole = true;
    for (int look = 0; look < 2000; look++) {
        struct buffer b = scratch_read("replaced");
        whole &= b.size == 3 && (memcmp(b.data, "one", 3) == 0 || memcmp(b.data, "two", 3) == 0);
        buffer_free(&b);
    }
    kill(writer, SIGTERM);
    waitpid(writer, NULL, 0);
    CHECK(whole);
}

static bool die_at_rename;

/* Replaces that of the C library. */
int rename(const char *from, const char *to)
{
    if (die_at_rename)
        raise(SIGTERM);
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void signal_leaves_one_name(struct check *check)
{
    int status;
    mkdir("signal", 0700);
    write_one("signal/file", "old");
    pid_t writer = fork();
    if (writer == 0) {
        die_at_rename = true;
        write_one("signal/file", "new");
        _exit(0);
    }
    CHECK(waitpid(writer, &status, 0) == writer && WIFSIGNALED(status) &&
          WTERMSIG(status) == SIGTERM);
    CHECK(holds("signal/file", "new"));
    CHECK_EQ(scratch_count("signal"), 1);
}

static bool without_proc;

/* Replaces that of the C library. */
int access(const char *path, int mode)
{
    if (without_proc && strncmp(path, "/proc/", 6) == 0) {
        errno = ENOENT;
        return -1;
    }
    return faccessat(AT_FDCWD, path, mode, 0);
}

/* Replaces that of the C library. */
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    if (!without_proc)
        return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    errno = ENOENT;
    return -1;
}

/* An unnamed file can only get a name through /proc: without it, a temporary file is renamed. */
static void proc_may_be_missing(struct check *check)
{
    mkdir("no-proc", 0700);
    without_proc = true;
    write_one("no-proc/file", "one");
    CHECK(holds("no-proc/file", "one"));
    write_one("no-proc/file", "two");
    CHECK(holds("no-proc/file", "two"));
    without_proc = false;
    CHECK_EQ(scratch_count("no-proc"), 1);
}

static void symbolic_link_is_followed(struct check *check)
{
    struct error err = {0};
    scratch_write("real", "old", 3);
    CHECK(symlink("real", "link") == 0);
    struct output *o = output_open("link", 0, &err);
    CHECK_EQ(output_write(o, "new", 3), 0);
    CHECK_EQ(output_commit(o), 0);
    struct stat st;
    CHECK(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(holds("real", "new"));
}

static void link_to_nothing_is_followed(struct check *check)
{
    struct error err = {0};
    struct stat st;
    mkdir("elsewhere", 0700);
    CHECK(symlink("second", "elsewhere/first") == 0);
    CHECK(symlink("elsewhere/first", "far") == 0);
    struct output *o = output_open("far", 0, &err);
    CHECK_EQ(output_write(o, "new", 3), 0);
    CHECK_EQ(output_commit(o), 0);
    CHECK(lstat("far", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(holds("elsewhere/second", "new"));
    CHECK(symlink("round", "round") == 0);
    CHECK(output_open("round", 0, &err) == NULL);
    CHECK_HAS(err.text, "cannot write");
}

static void full_device(struct check *check)
{
    struct error err = {0};
    struct output *o = output_open("/dev/full", 0, &err);
    CHECK(o != NULL);
    output_write(o, "x", 1);
    CHECK_EQ(output_commit(o), -1);
    CHECK_HAS(err.text, "No space left");
    CHECK_STR(err.file, "/dev/full");
    err = (struct error){0};
    o = output_open("/dev/full", 0, &err);
    struct buffer noise = scratch_noise(1000000);
    CHECK_EQ(output_write(o, noise.data, noise.size), -1);
    CHECK_EQ(output_write(o, "x", 1), -1); /* after a failure, every call fails */
    CHECK_EQ(output_commit(o), -1);
    buffer_free(&noise);
}

/* A full file system, simulated by a limit on the size of files. */
static void failure_leaves_the_old_one(struct check *check)
{
    struct error err = {0};
    struct rlimit old, small = {65536, RLIM_INFINITY};
    mkdir("full", 0700);
    scratch_write("full/file", "old", 3);
    struct buffer noise = scratch_noise(2000000);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    setrlimit(RLIMIT_FSIZE, &small);
    struct output *o = output_open("full/file", 0, &err);
    int written = o == NULL ? 0 : output_write(o, noise.data, noise.size);
    int committed = o == NULL ? 0 : output_commit(o);
    setrlimit(RLIMIT_FSIZE, &old);
    buffer_free(&noise);
    CHECK_EQ(written, -1);
    CHECK_EQ(committed, -1);
    CHECK_HAS(err.text, "cannot write");
    CHECK(holds("full/file", "old"));
    CHECK_EQ(scratch_count("full"), 1);
}

static void cannot_open(struct check *check)
{
    struct error err = {0};
    CHECK(output_open("no/such/folder/file", 0, &err) == NULL);
    CHECK_HAS(err.text, "cannot write");
    CHECK_STR(err.file, "no/such/folder/file");
    err = (struct error){0};
    CHECK(output_open(".", 0, &err) == NULL);
    CHECK(err.text[0] != '\0');
}

static void bzip2_by_suffix_and_flag(struct check *check)
{
    struct buffer noise = scratch_noise(700000);
    const char *const names[] = {"by-suffix.bz2", "by-flag"};
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        struct output *o = output_open(names[i], i == 1 ? OUTPUT_BZIP2 : 0, &err);
        CHECK_EQ(output_write(o, noise.data, noise.size), 0);
        CHECK_EQ(output_commit(o), 0);
        struct stream *s = stream_open(names[i], &err);
        uint8_t *back = malloc(noise.size + 1);
        CHECK_EQ(stream_read(s, back, noise.size, "data", &err), 1);
        CHECK_MEM(back, noise.data, noise.size);
        CHECK_EQ(stream_read(s, back, 1, "data", &err), 0);
        free(back);
        stream_close(s);
    }
    CHECK(scratch_shell("bzip2 -t < by-flag && bzip2 -t by-suffix.bz2"));
    buffer_free(&noise);
}

static void bzip2_of_nothing(struct check *check)
{
    struct error err = {0};
    struct output *o = output_open("nothing.bz2", 0, &err);
    CHECK_EQ(output_commit(o), 0);
    CHECK(scratch_shell("bzip2 -t nothing.bz2 && test -z \"$(bzip2 -dc nothing.bz2)\""));
}

static void suffixes(struct check *check)
{
    CHECK(path_has_suffix("a.csv", ".csv"));
    CHECK(path_has_suffix("a.csv.bz2", ".csv"));
    CHECK(path_has_suffix("x/b.pbin.bz2", ".pbin"));
    CHECK(!path_has_suffix("a.csvx", ".csv"));
    CHECK(!path_has_suffix(".csv", ".csv"));
    CHECK(!path_has_suffix("csv", ".csv"));
    CHECK(!path_has_suffix("", ".csv"));
    CHECK(!path_has_suffix(NULL, ".csv"));
    CHECK(!path_has_suffix("a.csv.gz", ".csv"));
}

CHECK_MAIN({"appears_when_complete", appears_when_complete},
           {"discard_leaves_the_old_one", discard_leaves_the_old_one},
           {"new_file_has_one_name", new_file_has_one_name},
           {"old_or_new_at_any_time", old_or_new_at_any_time},
           {"signal_leaves_one_name", signal_leaves_one_name},
           {"proc_may_be_missing", proc_may_be_missing},
           {"symbolic_link_is_followed", symbolic_link_is_followed},
           {"link_to_nothing_is_followed", link_to_nothing_is_followed},
           {"full_device", full_device}, {"failure_leaves_the_old_one", failure_leaves_the_old_one},
           {"cannot_open", cannot_open}, {"bzip2_by_suffix_and_flag", bzip2_by_suffix_and_flag},
           {"bzip2_of_nothing", bzip2_of_nothing}, {"suffixes", suffixes})
