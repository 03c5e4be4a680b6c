/* Input streams, read through a bounded window.
 * SPDX-License-Identifier: MIT */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unpack.h"
#include "base/memory.h"
#include "base/stream_internal.h"
#include "base/temporary.h"
#include "base/transfer.h"

/* At most WINDOW bytes are read at once, so that the data to be decoded next is in a near cache and a seek discards
 * little. */
enum { WINDOW = 256 * 1024, MAX_WINDOW = 32 * 1024 * 1024, SMALL_REST = 4096 };

/*   buffer                 window.next                capacity
 *   |  consumed            |  window.visible  |  free    |
 *                          ^ window.offset in the data           */
struct stream {
    struct stream_window window; /* first: the inlined functions rely on it */
    char *name;
    int fd;
    struct unpack *unpack; /* NULL: the data is not compressed */
    uint8_t *buffer;
    size_t capacity;
    uint64_t size;           /* after stream_make_seekable */
    uint64_t packed;         /* size of the compressed data that was copied; 0: none */
    uint64_t data, data_end; /* found last by stream_hole: no hole between the two */
    bool is_stdin, seekable, forgiving, sparing;
    struct error damage; /* the error that was forgiven */
};

static size_t end_of(const struct stream *s)
{
    return (size_t)(s->window.next - s->buffer) + s->window.visible;
}

static void forget(struct stream *s)
{
    s->window.next = s->buffer;
    s->window.visible = 0;
}

static ssize_t read_some(int fd, void *to, size_t count)
{
    ssize_t got;
    do
        got = read(fd, to, count);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Appends data to the window, which needs WANT bytes in all. Returns the number of new bytes, 0 at the end, or -1. */
static int64_t fill_some(struct stream *s, size_t want, struct error *err)
{
    uint8_t *to = s->buffer + end_of(s);
    size_t room = s->capacity - end_of(s), missing = want - s->window.visible;
    if (s->sparing)
        room = missing;
    else if (room > WINDOW)
        room = missing > WINDOW ? missing : WINDOW;
    bool forgiving = s->forgiving && s->unpack != NULL && s->window.offset + s->window.visible > 0;
    int64_t got;
    if (s->unpack != NULL)
        got = unpack_read(s->unpack, to, room, forgiving ? &s->damage : err);
    else if ((got = read_some(s->fd, to, room)) < 0)
        error_set_errno(err, s->name, errno, "cannot read");
    if (forgiving && s->damage.of_system) {
        *err = s->damage;
        s->damage = (struct error){0};
    } else if (forgiving && s->damage.text[0] != '\0') {
        got = 0;
    }
    if (got > 0)
        s->window.visible += (size_t)got;
    return got;
}

static void make_room(struct stream *s, size_t want)
{
    memmove(s->buffer, s->window.next, s->window.visible);
    if (want > s->capacity) {
        s->buffer = mem_resize(s->buffer, want, 1);
        s->capacity = want;
    }
    s->window.next = s->buffer;
}

int64_t stream_fill(struct stream *s, size_t want, const uint8_t **data, struct error *err)
{
    if (want > MAX_WINDOW)
        want = MAX_WINDOW;
    if (s->window.visible == 0)
        s->window.next = s->buffer;
    size_t consumed = (size_t)(s->window.next - s->buffer);
    if (s->capacity - consumed < want || (consumed > 0 && s->window.visible < SMALL_REST))
        make_room(s, want);
    while (s->window.visible < want) {
        int64_t got = fill_some(s, want, err);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
    }
    *data = s->window.next;
    return (int64_t)s->window.visible;
}

void stream_forgive(struct stream *s)
{
    s->forgiving = true;
}

const struct error *stream_damage(const struct stream *s)
{
    return s->damage.text[0] != '\0' ? &s->damage : NULL;
}

int stream_read(struct stream *s, void *to, size_t count, const char *what, struct error *err)
{
    size_t done = 0;
    while (done < count) {
        const uint8_t *data;
        int64_t have = stream_peek(s, 1, &data, err);
        if (have < 0)
            return -1;
        if (have == 0 && done == 0)
            return 0;
        if (have == 0)
            return error_set(err, s->name, s->window.offset, "%s cut short: %zu of %zu bytes", what,
                             done, count);
        size_t part = (uint64_t)have < count - done ? (size_t)have : count - done;
        memcpy((uint8_t *)to + done, data, part);
        stream_advance(s, part);
        done += part;
    }
    return 1;
}

int stream_skip(struct stream *s, uint64_t count, struct error *err)
{
    if (s->seekable && count > s->window.visible) {
        if (count > s->size - s->window.offset)
            return error_set(err, s->name, s->size, "data ends %llu bytes early",
                             (unsigned long long)(count - (s->size - s->window.offset)));
        return stream_seek(s, s->window.offset + count, err);
    }
    while (count > 0) {
        const uint8_t *data;
        int64_t have = stream_peek(s, 1, &data, err);
        if (have < 0)
            return -1;
        if (have == 0)
            return error_set(err, s->name, s->window.offset, "data ends %llu bytes early",
                             (unsigned long long)count);
        size_t part = (uint64_t)have < count ? (size_t)have : (size_t)count;
        stream_advance(s, part);
        count -= part;
    }
    return 0;
}

static int check_kind(int fd, const char *name, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_set_errno(err, name, errno, "cannot read");
    if (S_ISDIR(st.st_mode))
        return error_set(err, name, NO_OFFSET, "is a directory, not a file");
    return 0;
}

static struct stream *stream_of(int fd, const char *name)
{
    struct stream *s = mem_zalloc(1, sizeof *s);
    s->name = mem_strdup(name);
    s->fd = fd;
    s->buffer = mem_alloc(WINDOW);
    s->capacity = WINDOW;
    forget(s);
    return s;
}

struct stream *stream_open_plain(const char *path, struct error *err)
{
    bool standard = path == NULL || strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        error_set_errno(err, path, errno, "cannot open");
        return NULL;
    }
    struct stream *s = stream_of(fd, standard ? "<stdin>" : path);
    s->is_stdin = standard;
    if (check_kind(fd, s->name, err) != 0) {
        stream_close(s);
        return NULL;
    }
    return s;
}

void stream_decompress(struct stream *s, const struct unpack_format *format)
{
    s->unpack = unpack_new(format, s->fd, s->name, s->window.next, s->window.visible);
    forget(s);
}

/* Whether the stream is an uncompressed regular file that was read from its first byte. */
static bool is_plain_file(const struct stream *s, struct stat *st)
{
    uint64_t read = s->window.offset + s->window.visible;
    return s->unpack == NULL && fstat(s->fd, st) == 0 && S_ISREG(st->st_mode) &&
           lseek(s->fd, 0, SEEK_CUR) == (off_t)read;
}

struct stream *stream_again(const struct stream *s)
{
    struct stat st;
    char path[64];
    if (!is_plain_file(s, &st))
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d",
             s->fd); /* its name may refer to another file by now */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stream *again = stream_of(fd, s->name);
    again->size = (uint64_t)st.st_size;
    again->seekable = true;
    return again;
}

void stream_spare(struct stream *s, bool sparing)
{
    s->sparing = sparing;
}

void stream_close(struct stream *s)
{
    if (s == NULL)
        return;
    unpack_delete(s->unpack);
    if (s->fd != STDIN_FILENO)
        close(s->fd);
    free(s->buffer);
    free(s->name);
    free(s);
}

const char *stream_name(const struct stream *s)
{
    return s->name;
}

int stream_fail_empty(const struct stream *s, const char *expected, struct error *err)
{
    if (s->is_stdin)
        return error_set(err, NULL, NO_OFFSET, "standard input is empty, expected %s", expected);
    return error_set(err, s->name, NO_OFFSET, "empty file, expected %s", expected);
}

/* Copies all data to FD and continues to read from it. */
static int spool(struct stream *s, int fd, struct error *err)
{
    const uint8_t *data;
    int64_t have;
    while ((have = stream_peek(s, 1, &data, err)) > 0) {
        if (!write_all(fd, data, (size_t)have))
            return error_set_errno(
                err, s->name, errno,
                "cannot copy it to a temporary file, which needs more than %" PRIu64
                " bytes (TMPDIR chooses another folder)",
                s->window.offset);
        stream_advance(s, (size_t)have);
    }
    if (have < 0)
        return -1;
    s->packed = s->unpack != NULL ? unpack_held(s->unpack) : 0;
    unpack_delete(s->unpack);
    s->unpack = NULL;
    if (s->fd != STDIN_FILENO)
        close(s->fd);
    s->fd = fd;
    s->size = s->window.offset;
    return 0;
}

int stream_make_seekable(struct stream *s, struct error *err)
{
    struct stat st;
    if (s->seekable)
        return 0;
    if (s->window.offset == 0 && is_plain_file(s, &st)) {
        s->size = (uint64_t)st.st_size;
    } else {
        int fd = temporary_file(err);
        if (fd < 0)
            return -1;
        if (spool(s, fd, err) != 0) {
            close(fd);
            return -1;
        }
    }
    s->seekable = true;
    return stream_seek(s, 0, err);
}

uint64_t stream_held(const struct stream *s)
{
    if (s->packed > 0)
        return s->packed;
    if (s->seekable)
        return s->size;
    return s->unpack != NULL ? unpack_held(s->unpack) : s->window.offset + s->window.visible;
}

uint64_t stream_size(const struct stream *s)
{
    return s->size;
}

int stream_seek(struct stream *s, uint64_t offset, struct error *err)
{
    uint64_t first = s->window.offset - (uint64_t)(s->window.next - s->buffer);
    if (offset >= first && offset - first <= end_of(s)) { /* still in the buffer */
        s->window.visible = end_of(s) - (size_t)(offset - first);
        s->window.next = s->buffer + (offset - first);
        s->window.offset = offset;
        return 0;
    }
    if (lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
        return error_set_errno(err, s->name, errno, "cannot seek");
    forget(s);
    s->window.offset = offset;
    return 0;
}

/* Finds the first data at or after AT, and its end; if that is unknown, everything counts as
 * data. */
static void find_data(struct stream *s, uint64_t at)
{
    off_t data = lseek(s->fd, (off_t)at, SEEK_DATA);
    if (data < 0 && errno == ENXIO)
        data = lseek(s->fd, 0, SEEK_END); /* a hole up to the end */
    s->data = data > (off_t)at ? (uint64_t)data : at;
    off_t hole = lseek(s->fd, (off_t)s->data, SEEK_HOLE);
    s->data_end = hole > (off_t)s->data ? (uint64_t)hole : UINT64_MAX;
}

int64_t stream_hole(struct stream *s, struct error *err)
{
    uint64_t at = s->window.offset;
    if (!s->seekable || (at >= s->data && at < s->data_end))
        return 0;
    find_data(s, at);
    if (lseek(s->fd, (off_t)(at + s->window.visible), SEEK_SET) < 0)
        return error_set_errno(err, s->name, errno, "cannot seek");
    return (int64_t)(s->data - at);
}
