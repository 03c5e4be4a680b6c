/* Output streams; files appear complete or not at all.
 * SPDX-License-Identifier: MIT */
#include "base/output.h"

#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/transfer.h"

enum { BUFFER = 256 * 1024, PIPE_SIZE = 1024 * 1024 };

struct output {
    char *name; /* for messages; the path of the file */
    char *
        target; /* the file after following symbolic links; NULL: written in place (pipe, device) */
    char *temporary;               /* name of the unfinished file; NULL: unnamed */
    struct unfinished *unfinished; /* the same for remove_unfinished; NULL: none yet */
    int fd;
    struct error *err;
    bool failed;
    bz_stream *bz; /* NULL: not compressed */
    size_t used;
    uint8_t buffer[BUFFER];
};

bool path_has_suffix(const char *path, const char *suffix)
{
    if (path == NULL)
        return false;
    size_t length = strlen(path), tail = strlen(suffix);
    if (length > 4 && strcmp(path + length - 4, ".bz2") == 0)
        length -= 4;
    return length > tail && memcmp(path + length - tail, suffix, tail) == 0;
}

bool path_has_any_suffix(const char *path)
{
    if (path == NULL)
        return false;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".bz2") == 0)
        length -= 4;
    /* the dot of a hidden file does not count */
    return length > 1 && memrchr(name + 1, '.', length - 1) != NULL;
}

static bool has_bz2_suffix(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".bz2") == 0;
}

enum { LINK = 64 };

/* Writes to LINK the path in /proc that leads to the unnamed file FD. */
static void link_to(int fd, char *link)
{
    snprintf(link, LINK, "/proc/self/fd/%d", fd);
}

/* Opens an unnamed file in FOLDER that can be named later. Fails on file systems without unnamed
 * files, and without /proc. */
static int open_unnamed(const char *folder)
{
    char link[LINK];
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    link_to(fd, link);
    if (access(link, F_OK) == 0)
        return fd;
    close(fd);
    errno = EOPNOTSUPP;
    return -1;
}

/* The unfinished file, for a function called by exit. Never freed, because on_exit cannot be
 * undone. */
struct unfinished {
    pid_t pid; /* process that created it, not its children */
    char *temporary;
};

static void remove_unfinished(int status, void *opaque)
{
    const struct unfinished *u = opaque;
    (void)status;
    if (u->temporary != NULL && u->pid == getpid())
        unlink(u->temporary);
}

/* Call it before a file gets a temporary name, because memory may run out afterwards. */
static void expect_temporary(struct output *o)
{
    if (o->unfinished != NULL)
        return;
    o->unfinished = mem_zalloc(1, sizeof *o->unfinished);
    o->unfinished->pid = getpid();
    on_exit(remove_unfinished, o->unfinished);
}

/* Takes over NAME, which is now the name of the unfinished file; NULL: it has none. */
static void set_temporary(struct output *o, char *name)
{
    free(o->temporary);
    o->temporary = name;
    if (o->unfinished != NULL)
        o->unfinished->temporary = name;
}

/* Opens an unnamed file in the folder of TARGET or, if that fails, a temporary file beside it. */
static int open_unfinished(struct output *o)
{
    char *copy = mem_strdup(o->target);
    int fd = open_unnamed(dirname(copy));
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        char *name = mem_printf("%s.XXXXXX", o->target);
        expect_temporary(o);
        fd = mkostemp(name, O_CLOEXEC);
        if (fd < 0)
            free(name);
        else
            set_temporary(o, name);
        mode_t mask = umask(0);
        umask(mask);
        if (fd >= 0)
            fchmod(fd, 0666 & ~mask);
    }
    free(copy);
    return fd;
}

/* The target of PATH if it is a symbolic link to a file that does not exist yet, otherwise PATH
 * itself. Returns NULL with errno set if the chain of links is endless; caller frees. */
static char *follow_links(const char *path)
{
    char *at = mem_strdup(path);
    for (int links = 0; links < 40; links++) {
        char to[4096];
        ssize_t length = readlink(at, to, sizeof to - 1);
        if (length < 0)
            return at;
        to[length] = '\0';
        const char *slash = to[0] == '/' ? NULL : strrchr(at, '/');
        int folder = slash != NULL ? (int)(slash + 1 - at) : 0;
        char *next = mem_printf("%.*s%s", folder, at, to);
        free(at);
        at = next;
    }
    free(at);
    errno = ELOOP;
    return NULL;
}

/* Opens a device or pipe itself, and an unfinished file for everything else. */
static int open_file(struct output *o, const char *path)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode))
        return open(path, O_WRONLY | O_CLOEXEC);
    if (exists && access(path, W_OK) != 0)
        return -1;
    o->target = exists ? realpath(path, NULL) : follow_links(path);
    if (o->target == NULL)
        return -1;
    int fd = open_unfinished(o);
    if (fd >= 0 && exists)
        fchmod(fd, st.st_mode & 0777); /* the new content gets no setuid, setgid or sticky bit */
    return fd;
}

static int begin_bzip2(struct output *o)
{
    o->bz = mem_zalloc(1, sizeof *o->bz);
    if (BZ2_bzCompressInit(o->bz, 9, 0, 0) == BZ_OK)
        return 0;
    free(o->bz);
    o->bz = NULL;
    return error_set(o->err, o->name, NO_OFFSET, "out of memory for bzip2");
}

struct output *output_open(const char *path, unsigned flags, struct error *err)
{
    bool standard = path == NULL || strcmp(path, "-") == 0;
    struct output *o = mem_zalloc(1, sizeof *o);
    o->name = mem_strdup(standard ? "<stdout>" : path);
    o->err = err;
    o->fd = standard ? STDOUT_FILENO : open_file(o, path);
    if (o->fd < 0) {
        error_set_errno(err, path, errno, "cannot write");
    } else if ((flags & (OUTPUT_BINARY | OUTPUT_BZIP2)) != 0 && isatty(o->fd)) {
        error_set(err, o->name, NO_OFFSET,
                  "refusing to write binary output to a terminal: use -o FILE or a pipe");
    } else if (((flags & OUTPUT_BZIP2) == 0 && (standard || !has_bz2_suffix(path))) ||
               begin_bzip2(o) == 0) {
        fcntl(o->fd, F_SETPIPE_SZ,
              PIPE_SIZE); /* fewer context switches; harmless if it is not a pipe */
        return o;
    }
    output_discard(o);
    return NULL;
}

static int fail(struct output *o, int errnum)
{
    o->failed = true;
    if (errnum == EPIPE && o->fd == STDOUT_FILENO && o->err->text[0] == '\0')
        o->err->closed_pipe = true;
    return error_set_errno(o->err, o->name, errnum, "cannot write");
}

int output_fail_usage(struct output *o, const char *format, ...)
{
    va_list args;
    char text[sizeof o->err->text];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    o->failed = true;
    return error_set_usage(o->err, NULL, "%s", text);
}

static int write_out(struct output *o, const uint8_t *data, size_t count)
{
    if (o->failed)
        return -1;
    return write_all(o->fd, data, count) ? 0 : fail(o, errno);
}

/* Compresses the input set in o->bz with ACTION (BZ_RUN, BZ_FINISH). */
static int compress(struct output *o, int action)
{
    int code;
    do {
        char packed[16 * 1024];
        o->bz->next_out = packed;
        o->bz->avail_out = sizeof packed;
        code = BZ2_bzCompress(o->bz, action);
        if (write_out(o, (uint8_t *)packed, sizeof packed - o->bz->avail_out) != 0)
            return -1;
    } while (o->bz->avail_in > 0 || code == BZ_FINISH_OK);
    return 0;
}

static int flush(struct output *o)
{
    size_t used = o->used;
    o->used = 0;
    if (o->bz == NULL)
        return write_out(o, o->buffer, used);
    if (used == 0)
        return o->failed ? -1 : 0; /* the compressor rejects empty input */
    o->bz->next_in = (char *)o->buffer;
    o->bz->avail_in = (unsigned)used;
    return compress(o, BZ_RUN);
}

int output_write(struct output *o, const void *data, size_t count)
{
    const uint8_t *from = data;
    while (count > 0) {
        if (o->used == BUFFER && flush(o) != 0)
            return -1;
        size_t part = BUFFER - o->used < count ? BUFFER - o->used : count;
        memcpy(o->buffer + o->used, from, part);
        o->used += part;
        from += part;
        count -= part;
    }
    return o->failed ? -1 : 0;
}

int output_printf(struct output *o, const char *format, ...)
{
    char small[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof small)
        return output_write(o, small, (size_t)length);
    char *large = mem_alloc((size_t)length + 1);
    va_start(args, format);
    vsnprintf(large, (size_t)length + 1, format, args);
    va_end(args);
    int result = output_write(o, large, (size_t)length);
    free(large);
    return result;
}

int output_zeros(struct output *o, uint64_t count)
{
    static const uint8_t zeros[4096];
    if (o->target != NULL && o->bz == NULL && count > BUFFER) {
        if (flush(o) != 0)
            return -1;
        off_t at = lseek(o->fd, (off_t)count, SEEK_CUR);
        if (at < 0 || ftruncate(o->fd, at) != 0) /* the file may end here */
            return fail(o, errno);
        return 0;
    }
    for (; count > 0 && !o->failed; count -= count < sizeof zeros ? count : sizeof zeros)
        output_write(o, zeros, count < sizeof zeros ? (size_t)count : sizeof zeros);
    return o->failed ? -1 : 0;
}

/* Gives the file at LINK a temporary name beside the target. */
static int name_temporary(struct output *o, const char *link)
{
    expect_temporary(o);
    for (unsigned attempt = 0; attempt <= 100; attempt++) {
        char *name = mem_printf("%s.%ld-%u.tmp", o->target, (long)getpid(), attempt);
        if (linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
            set_temporary(o, name);
            return 0;
        }
        free(name);
        if (errno != EEXIST)
            break;
    }
    return -1;
}

/* Gives the unfinished file its name, replacing an existing file. No system call replaces a file by
 * an unnamed one, so the file has a second name for a moment. */
static int give_name(struct output *o)
{
    char link[LINK];
    link_to(o->fd, link);
    if (o->temporary == NULL) {
        if (linkat(AT_FDCWD, link, AT_FDCWD, o->target, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST || name_temporary(o, link) != 0)
            return fail(o, errno);
    }
    if (rename(o->temporary, o->target) != 0)
        return fail(o, errno);
    set_temporary(o, NULL);
    return 0;
}

static void release(struct output *o)
{
    if (o->temporary != NULL)
        unlink(o->temporary);
    if (o->fd > STDERR_FILENO)
        close(o->fd);
    if (o->bz != NULL)
        BZ2_bzCompressEnd(o->bz);
    free(o->bz);
    set_temporary(o, NULL);
    free(o->target);
    free(o->name);
    free(o);
}

int output_commit(struct output *o)
{
    int result = flush(o);
    if (result == 0 && o->bz != NULL)
        result = compress(o, BZ_FINISH);
    if (result == 0 && o->target != NULL && fsync(o->fd) != 0)
        result = fail(o, errno);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all,
                    &before); /* no signal may end the program while the temporary name exists */
    if (result == 0 && o->target != NULL)
        result = give_name(o);
    release(o);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

void output_discard(struct output *o)
{
    if (o != NULL)
        release(o);
}
