/* The unfinished recording on disk.
 * SPDX-License-Identifier: MIT */
#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"

enum {
    ROWS_FULL = 256 * 1024,
    ROWS_LARGEST = 8 * 1024 * 1024 - 64,
    ROW_HEAD = 20,
    ROW_THREAD = 20
};

struct spool {
    char *name; /* NULL: it has none */
    char *path; /* to read it by */
    int fd;
    bool keep, failed;
    struct error *err;
    struct buffer rows, block;
    size_t row_count; /* samples in rows */
    uint64_t samples;
};

static int open_named(struct spool *spool, const char *out, struct error *err)
{
    spool->name = mem_printf("%s.part", out);
    spool->path = mem_strdup(spool->name);
    spool->fd = open(spool->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (spool->fd >= 0)
        return 0;
    int errnum = errno;
    error_set_errno(
        err, spool->name, errnum,
        errnum == EEXIST
            ? "an unfinished recording is in the way: keep what it holds with prof2pbin "
              "--salvage, or remove it"
            : "cannot write");
    free(spool->name); /* not ours to remove */
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
        } else if (errno != EINTR) {
            spool->failed = true;
            error_set_errno(spool->err, spool->name, errno, "cannot write");
        }
    }
    return spool->failed ? -1 : 0;
}

static int write_head(struct spool *spool)
{
    memset(buffer_extend(&spool->block, SPOOL_START - RAW_SIGNATURE_SIZE), 0,
           SPOOL_START - RAW_SIGNATURE_SIZE);
    buffer_bytes(&spool->block, raw_signature, RAW_SIGNATURE_SIZE);
    return write_out(spool, &spool->block);
}

struct spool *spool_new(const char *out, struct error *err)
{
    struct stat st;
    bool named = stat(out, &st) != 0 || S_ISREG(st.st_mode);
    struct spool *spool = mem_zalloc(1, sizeof *spool);
    spool->err = err;
    spool->fd = -1;
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
    if (spool->name != NULL && !spool->keep)
        unlink(spool->name);
    if (spool->fd >= 0)
        close(spool->fd);
    buffer_free(&spool->rows);
    buffer_free(&spool->block);
    free(spool->name);
    free(spool->path);
    free(spool);
}

const char *spool_keep(struct spool *spool)
{
    spool->keep = true;
    return spool->name;
}

int spool_flush(struct spool *spool)
{
    if (spool->row_count == 0)
        return spool->failed ? -1 : 0;
    spool->block.size = 0;
    raw_put_rows(&spool->block, spool->rows.data, spool->rows.size, spool->row_count);
    spool->rows.size = spool->row_count = 0;
    return write_out(spool, &spool->block);
}

int spool_facts(struct spool *spool, const struct raw_fact *facts, size_t count)
{
    if (spool_flush(spool) != 0)
        return -1;
    spool->block.size = 0;
    raw_put_facts(&spool->block, facts, count);
    return write_out(spool, &spool->block);
}

int spool_maps(struct spool *spool, const struct raw_map *maps, size_t count)
{
    if (spool_flush(spool) != 0)
        return -1;
    spool->block.size = 0;
    raw_put_maps(&spool->block, maps, count);
    return write_out(spool, &spool->block);
}

int spool_threads(struct spool *spool, const struct raw_thread *threads, size_t count)
{
    if (spool_flush(spool) != 0)
        return -1;
    spool->block.size = 0;
    raw_put_threads(&spool->block, threads, count);
    return write_out(spool, &spool->block);
}

int spool_sample(struct spool *spool, double value, const struct engine_sample *sample)
{
    const size_t most = (ROWS_LARGEST - ROW_HEAD) / ROW_THREAD; /* more than any kernel allows */
    size_t count = sample->count < most ? sample->count : most;
    if (spool->rows.size + ROW_HEAD + count * ROW_THREAD > ROWS_LARGEST && spool_flush(spool) != 0)
        return -1;
    buffer_u64(&spool->rows, sample->time);
    buffer_f64(&spool->rows, value);
    buffer_u32(&spool->rows, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(&spool->rows, sample->threads[i].tid);
        buffer_u64(&spool->rows, sample->threads[i].pc);
        buffer_u64(&spool->rows, sample->threads[i].cpu);
    }
    spool->row_count++;
    spool->samples++;
    return spool->rows.size < ROWS_FULL ? 0 : spool_flush(spool);
}

uint64_t spool_samples(const struct spool *spool)
{
    return spool->samples;
}

const char *spool_path(const struct spool *spool)
{
    return spool->path;
}
