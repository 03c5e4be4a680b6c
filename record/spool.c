/* The unfinished recording on disk.
 * SPDX-License-Identifier: MIT */
#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"

enum {
    ROWS_FULL = 256 * 1024,
    MAX_ROWS = 8 * 1024 * 1024 - 64,
    ROW_THREAD = 20,
    ROOM_TO_MOVE = 8192 /* [bytes] */
};

/* Lets a function that exit calls find the spool. Never freed, because on_exit cannot be undone. */
struct last_words {
    pid_t pid; /* that created the spool: children do not remove it */
    const struct spool *spool;
};

struct spool {
    struct last_words *last_words;
    char *name; /* NULL: none */
    char *path; /* path for reading it */
    int fd;
    bool keep, failed;
    struct error *err;
    struct buffer rows, flags, blocks;
    uint64_t *callers;
    size_t caller_count, caller_capacity;
    size_t row_count;             /* number of samples in rows */
    size_t largest;               /* largest flush so far [bytes] */
    uint64_t samples, seen, size; /* on disk; SEEN: number of thread samples */
};

void spool_report(const char *part)
{
    fprintf(stderr, "sampler: the samples are in %s: prof2pbin --salvage %s\n", part, part);
}

/* Removes the spool: a file that remained would block the next recording. */
static void remove_file(const struct spool *spool)
{
    if (unlink(spool->name) != 0 && errno != ENOENT)
        fprintf(stderr, "sampler: %s: cannot remove: %s\n", spool->name, strerror(errno));
}

/* Called by exit. Allocates no memory. */
static void exit_early(int status, void *opaque)
{
    const struct last_words *words = opaque;
    const struct spool *spool = words->pid == getpid() ? words->spool : NULL;
    (void)status;
    if (spool == NULL || spool->name == NULL)
        return;
    if (spool->samples > 0)
        spool_report(spool->name);
    else
        remove_file(spool);
}

static int open_named(struct spool *spool, const char *out, struct error *err)
{
    spool->name = mem_printf("%s.part", out);
    spool->path = mem_strdup(spool->name);
    spool->fd = open(spool->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (spool->fd >= 0)
        return 0;
    int errnum = errno;
    error_set_errno(err, spool->name, errnum,
                    errnum == EEXIST
                        ? "an unfinished recording exists: keep its samples with prof2pbin "
                          "--salvage, or remove it"
                        : "cannot write");
    free(spool->name); /* so that another sampler's file is not removed */
    spool->name = NULL;
    return -1;
}

static int open_nameless(struct spool *spool, struct error *err)
{
    spool->fd = temporary_file(err);
    spool->path = mem_printf("/proc/self/fd/%d", spool->fd);
    return spool->fd >= 0 ? 0 : -1;
}

static int write_out(struct spool *spool, const struct buffer *data)
{
    for (size_t at = 0; at < data->size && !spool->failed;) {
        ssize_t done = write(spool->fd, data->data + at, data->size - at);
        if (done >= 0) {
            at += (size_t)done;
            spool->size += (uint64_t)done;
        } else if (errno != EINTR) {
            spool->failed = true;
            error_set_errno(spool->err, spool->name, errno, "cannot write");
        }
    }
    return spool->failed ? -1 : 0;
}

/* Writes whole blocks or nothing, so that the data on disk can always be composed. */
static int flush_blocks(struct spool *spool)
{
    uint64_t before = spool->size;
    if (spool->blocks.size > spool->largest)
        spool->largest = spool->blocks.size;
    int result = write_out(spool, &spool->blocks);
    if (spool->size > before && result != 0 && ftruncate(spool->fd, (off_t)before) == 0) {
        spool->size = before;
        lseek(spool->fd, 0, SEEK_END);
    }
    spool->blocks.size = 0;
    return result;
}

static int write_head(struct spool *spool)
{
    memset(buffer_extend(&spool->blocks, SPOOL_START - RAW_SIGNATURE_SIZE), 0,
           SPOOL_START - RAW_SIGNATURE_SIZE);
    buffer_bytes(&spool->blocks, raw_signature, RAW_SIGNATURE_SIZE);
    return flush_blocks(spool);
}

struct spool *spool_new(const char *out, struct error *err)
{
    struct stat st;
    bool named = stat(out, &st) != 0 || S_ISREG(st.st_mode);
    struct spool *spool = mem_zalloc(1, sizeof *spool);
    spool->err = err;
    spool->fd = -1;
    spool->last_words = mem_zalloc(1, sizeof *spool->last_words);
    *spool->last_words = (struct last_words){.pid = getpid(), .spool = spool};
    on_exit(exit_early, spool->last_words);
    if ((named ? open_named(spool, out, err) : open_nameless(spool, err)) == 0 &&
        write_head(spool) == 0)
        return spool;
    spool_delete(spool);
    return NULL;
}

void spool_delete(struct spool *spool)
{
    if (spool == NULL)
        return;
    spool->last_words->spool = NULL;
    if (spool->name != NULL && !spool->keep)
        remove_file(spool);
    if (spool->fd >= 0)
        close(spool->fd);
    buffer_free(&spool->rows);
    buffer_free(&spool->flags);
    buffer_free(&spool->blocks);
    free(spool->callers);
    free(spool->name);
    free(spool->path);
    free(spool);
}

const char *spool_keep(struct spool *spool)
{
    spool->keep = true;
    return spool->name;
}

struct buffer *spool_blocks(struct spool *spool)
{
    return &spool->blocks;
}

int spool_flush(struct spool *spool)
{
    size_t rows = spool->row_count, seen = spool->flags.size;
    if (rows > 0) {
        raw_put_rows(&spool->blocks, spool->rows.data, spool->rows.size, rows);
        raw_put_seen(&spool->blocks, spool->seen, spool->flags.data, seen, spool->callers);
        spool->rows.size = spool->row_count = spool->flags.size = spool->caller_count = 0;
    }
    if (flush_blocks(spool) != 0)
        return -1;
    spool->samples += rows;
    spool->seen += seen;
    return 0;
}

void spool_sample(struct spool *spool, const struct engine_sample *sample)
{
    /* more threads than any kernel allows */
    const size_t most = (MAX_ROWS - ROWS_FULL) / ROW_THREAD;
    size_t count = sample->count < most ? sample->count : most;
    buffer_u64(&spool->rows, sample->time);
    buffer_f64(&spool->rows, 0);
    buffer_u32(&spool->rows, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const struct engine_thread *thread = &sample->threads[i];
        buffer_u32(&spool->rows, thread->tid);
        buffer_u64(&spool->rows, thread->pc);
        buffer_u64(&spool->rows, thread->cpu);
        buffer_u8(&spool->flags, thread->flags);
        if (!(thread->flags & RAW_CALLER))
            continue;
        mem_reserve(&spool->callers, &spool->caller_capacity, spool->caller_count + 1,
                    sizeof *spool->callers);
        spool->callers[spool->caller_count++] = thread->caller;
    }
    spool->row_count++;
}

bool spool_full(const struct spool *spool)
{
    return spool->rows.size >= ROWS_FULL;
}

const char *spool_shortage(const struct spool *spool, uint64_t more)
{
    struct statvfs disk;
    struct rlimit file;
    uint64_t needed = spool->size + more + 2 * spool->largest + ROOM_TO_MOVE;
    if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY &&
        file.rlim_cur < needed)
        return "the limit for file sizes is reached (ulimit -f)";
    if (fstatvfs(spool->fd, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < needed)
        return "the disk is full";
    return NULL;
}

uint64_t spool_samples(const struct spool *spool)
{
    return spool->samples;
}

const char *spool_path(const struct spool *spool)
{
    return spool->path;
}
