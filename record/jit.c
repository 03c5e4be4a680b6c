/* Copies the descriptions of generated code.
 * SPDX-License-Identifier: MIT */
#include "record/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"

enum { PIECE = 1 << 20, SLACK = 2 };              /* SLACK [s]: the times of files are coarse */
static const size_t max_size = (size_t)256 << 20; /* size of one file [bytes] */

/* Opens a file unless it is older than SINCE: such a file belongs to an earlier process with the
 * same number. */
static int open_new(const char *path, int64_t since)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
                    st.st_mtim.tv_sec + SLACK < since / (int64_t)SECOND)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int copy(struct spool *spool, uint32_t image, enum raw_jit kind, const char *path,
                int64_t since)
{
    int fd = open_new(path, since), result = 0;
    uint8_t *piece = fd >= 0 ? mem_alloc(PIECE) : NULL;
    for (size_t done = 0; fd >= 0 && result == 0 && done < max_size;) {
        ssize_t got = read(fd, piece, PIECE);
        if (got <= 0)
            break;
        raw_put_jit(spool_blocks(spool), image, kind, piece, (size_t)got);
        result = spool_flush(spool);
        done += (size_t)got;
    }
    free(piece);
    if (fd >= 0)
        close(fd);
    return result;
}

int jit_copy(struct spool *spool, const struct images *images, uint32_t image, int64_t started)
{
    char path[64];
    int64_t since = started + (int64_t)images_start(images, image);
    const char *dump = images_dump(images, image);
    snprintf(path, sizeof path, "/tmp/perf-%" PRIu32 ".map", images_pid(images, image));
    if (copy(spool, image, RAW_JIT_TEXT, path, since) != 0)
        return -1;
    return dump != NULL ? copy(spool, image, RAW_JIT_DUMP, dump, since) : 0;
}
